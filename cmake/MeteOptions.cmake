# SPDX-License-Identifier: Apache-2.0
# How everything is compiled.  Set once here; no target adds flags of its own
# except for what it alone needs.

# Every build type keeps symbols, so that a core dump or a profile of a release
# can be read, and none defines NDEBUG: assertions stay on.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wcast-qual -Wvla)
if(METE_WERROR)
    add_compile_options(-Werror)
endif()

# The library never replaces its own functions at load time, so calls inside the
# shared library may be direct and inlined.
add_compile_options(-fno-semantic-interposition)

# The 16-byte compare-and-swap.  Every x86-64 made since 2006 has it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    add_compile_options(-mcx16)
endif()

if(METE_DCHECKS)
    add_compile_definitions(METE_DCHECKS=1)
endif()

# What a program must be linked with to use these objects.
set(METE_INSTRUMENTATION "")

if(METE_SANITIZE)
    # Objects take the coverage hooks of the fuzzer but not its main function:
    # only the fuzz targets are linked with that.
    string(REGEX REPLACE "^fuzzer,|,fuzzer" "" METE_SANITIZE_LINKED "${METE_SANITIZE}")
    string(REGEX REPLACE "fuzzer" "fuzzer-no-link" METE_SANITIZE_COMPILED "${METE_SANITIZE}")
    add_compile_options(-fsanitize=${METE_SANITIZE_COMPILED} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${METE_SANITIZE_LINKED})
    set(METE_INSTRUMENTATION "-fsanitize=${METE_SANITIZE_LINKED}")
endif()

if(METE_COVERAGE)
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
    set(METE_INSTRUMENTATION "--coverage")
endif()

if(METE_LTO)
    include(CheckIPOSupported)
    check_ipo_supported(LANGUAGES C)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
