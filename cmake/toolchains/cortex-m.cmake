# SPDX-License-Identifier: MIT
# Bare-metal ARM with newlib: Debian's gcc-arm-none-eabi and libstdc++-arm-none-eabi-newlib. The processor's flags, such
# as -mcpu=cortex-m4 -mthumb, the startup code and the linker script are each program's own.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # a program would need the linker script
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)  # none of this machine's own
endforeach()
