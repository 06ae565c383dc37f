# SPDX-License-Identifier: Apache-2.0
# A room is a folder of src/ with a list of the rooms it may include.
#
# Headers are named by their room: "table/table.h".  The include path of a room is
# one generated folder that holds links to itself and to the rooms it may include,
# and nothing else.  So a wrong include does not compile.

# mete_room_path(<room> <allowed room>...): fills ${METE_ROOMS_DIR}/<room>.
set(METE_ROOMS_DIR "${PROJECT_BINARY_DIR}/rooms")
function(mete_room_path room)
    file(REMOVE_RECURSE "${METE_ROOMS_DIR}/${room}")
    file(MAKE_DIRECTORY "${METE_ROOMS_DIR}/${room}")
    foreach(name IN LISTS room ARGN)
        if(name STREQUAL "bench")
            set(folder "${PROJECT_SOURCE_DIR}/bench")
        else()
            set(folder "${PROJECT_SOURCE_DIR}/src/${name}")
        endif()
        file(CREATE_LINK "${folder}" "${METE_ROOMS_DIR}/${room}/${name}" SYMBOLIC)
    endforeach()
endfunction()

# mete_room(<room> <allowed room>...): the object library mete_<room> of src/<room>/*.c.
function(mete_room room)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.c")
    mete_room_path(${room} ${ARGN})
    add_library(mete_${room} OBJECT ${sources})
    set_target_properties(mete_${room} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(mete_${room} PRIVATE "${METE_ROOMS_DIR}/${room}" "${PROJECT_SOURCE_DIR}/include")
endfunction()
