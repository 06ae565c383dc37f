# SPDX-License-Identifier: Apache-2.0
# Writes the files of a folder into a C source, with the table of server/assets.h.
#
#   cmake -DFOLDER=web -DOUT=assets_data.c -P embed.cmake

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

file(GLOB files "${FOLDER}/*")
list(SORT files)
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
    cmake_path(GET file FILENAME name)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    string(SUBSTRING "${extension}" 1 -1 extension)
    if(NOT DEFINED type_${extension})
        message(FATAL_ERROR "embed.cmake: ${file}: no content type is known for this ending")
    endif()
    file(READ "${file}" hex HEX)
    file(SHA256 "${file}" sum)
    string(SUBSTRING "${sum}" 0 16 tag)
    # Lines of 32 bytes.
    string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    if(name STREQUAL "index.html")
        set(path "/")
    else()
        set(path "/${name}")
    endif()
    string(APPEND arrays "static const unsigned char bytes_${number}[] = {\n${hex}};\n\n")
    string(APPEND rows "    {\"${path}\", \"${type_${extension}}\", (const char *)bytes_${number}, "
        "sizeof bytes_${number}, \"\\\"${tag}\\\"\"},\n")
    math(EXPR number "${number} + 1")
endforeach()

file(WRITE "${OUT}" "/* Made from web/ by cmake/embed.cmake. */\n#include \"server/assets.h\"\n\n${arrays}"
    "const struct mete__asset mete__assets[] = {\n${rows}};\n\nconst size_t mete__asset_count = ${number};\n")
