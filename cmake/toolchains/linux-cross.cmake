# SPDX-License-Identifier: MIT
# Builds for another processor with Debian's g++-TRIPLE, and runs what is built under qemu-user-static:
#   cmake -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/linux-cross.cmake -DTENON_TRIPLE=s390x-linux-gnu ...
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TENON_TRIPLE)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${TENON_TRIPLE}")
set(CMAKE_CXX_COMPILER "${TENON_TRIPLE}-g++")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR}-static;-L;/usr/${TENON_TRIPLE}")
