# SPDX-License-Identifier: MIT
# cmake -DCXX=<compiler> -DCXX_FLAGS=<flags> -DINCLUDE_DIR=<folder> -DSCRATCH=<folder> -P switches.cmake
# Two files that disagree in a switch do not link, whether they share a parameter, a result or a variable; with the switch
# in both they do, and run.
cmake_minimum_required(VERSION 3.22)

separate_arguments(flags NATIVE_COMMAND "${CXX_FLAGS}")
set(compile "${CXX}" ${flags} -std=c++17 "-I${INCLUDE_DIR}")
set(ENV{LC_ALL} C) # the linker's words are English
file(MAKE_DIRECTORY "${SCRATCH}")

function(compile_with switch source object)
  execute_process(COMMAND ${compile} ${switch} -c "${CMAKE_CURRENT_LIST_DIR}/${source}" -o "${SCRATCH}/${object}"
                          COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(link part main)
  execute_process(COMMAND "${CXX}" ${flags} "${SCRATCH}/${part}" "${SCRATCH}/${main}" -o "${SCRATCH}/program"
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(result ${result} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(uses PARAMETER RESULT MEMBER VARIABLE)
foreach(use IN LISTS uses)
  compile_with(-DBY_${use} switched.cpp main_${use}.o)
endforeach()
if(flags MATCHES "TENON_PORTABLE=1") # without the attribute
  set(uses PARAMETER)
endif()
foreach(switch -DTENON_INLINE_DIMS=8 -DTENON_DATA_ALIGNMENT=32 -DTENON_HEAP=0 -DTENON_HAS_THREADS=0 -DTENON_BARE_METAL=1
               -DTENON_PORTABLE=1 -DTENON_ERROR_TEXT=0 -DTENON_MARKS_FREE_MEMORY=1 -fno-exceptions)
  if(switch IN_LIST flags) # the whole build has it
    continue()
  endif()
  compile_with(${switch} switched_part.cpp part.o)
  foreach(use IN LISTS uses)
    link(part.o main_${use}.o)
    if(result EQUAL 0 OR NOT output MATCHES "undefined reference to .*rank_")
      message(FATAL_ERROR "${switch} in one of two files, by ${use}: the linker says\n${output}")
    endif()
  endforeach()
endforeach()

# The usual values, written out, are no other ones.
compile_with("-DTENON_INLINE_DIMS=6;-DTENON_DATA_ALIGNMENT=64;-DTENON_HEAP=1;-DTENON_ERROR_TEXT=1" switched_part.cpp part.o)
foreach(use IN LISTS uses)
  link(part.o main_${use}.o)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the usual values in one of two files:\n${output}")
  endif()
  execute_process(COMMAND "${SCRATCH}/program" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# A value that both have.
compile_with(-DTENON_INLINE_DIMS=8 switched_part.cpp part.o)
foreach(use IN LISTS uses)
  compile_with("-DTENON_INLINE_DIMS=8;-DBY_${use}" switched.cpp main.o)
  link(part.o main.o)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "-DTENON_INLINE_DIMS=8 in both files:\n${output}")
  endif()
  execute_process(COMMAND "${SCRATCH}/program" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
