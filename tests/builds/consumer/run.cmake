# SPDX-License-Identifier: MIT
#
# cmake -DMODE=<test> -DSCRATCH=<folder> … -P run.cmake
# The body of the consumer tests; CMakeLists.txt beside this file lists the definitions. Everything
# is written below SCRATCH.

set(prefix "${SCRATCH}/prefix")
set(here "${CMAKE_CURRENT_LIST_DIR}")

# Runs a command; stops with its output unless it succeeds. Leaves the output in `output`.
macro(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "Failed (${result}): ${ARGV}\n${output}")
  endif()
endmacro()

# Runs a command that must fail, and whose output must have each of the words.
function(expect_failure words)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  expect_words("${words}")
  if(result EQUAL 0)
    message(FATAL_ERROR "Expected a failure with \"${words}\", got:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Looks for each of the words in `output`, in which CMake breaks lines.
function(expect_words words)
  string(REGEX REPLACE "[ \n]+" " " text "${output}")
  foreach(sentence IN LISTS words)
    string(FIND "${text}" "${sentence}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "Expected \"${sentence}\", got:\n${output}")
    endif()
  endforeach()
endfunction()

function(expect condition_text actual expected)
  if(NOT actual STREQUAL expected)
    message(FATAL_ERROR "${condition_text}: got \"${actual}\", expected \"${expected}\"")
  endif()
endfunction()

# Nothing that lies about on this machine is found.
set(ENV{TENON_PARTNERS} "${SCRATCH}/no_partners")
set(ENV{CMAKE_PREFIX_PATH} "")

set(configure "${CMAKE_COMMAND}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
              "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" --no-warn-unused-cli)

# Sets `command` to one that configures a project with the further options. What an earlier run found out about
# the compiler is kept, which is most of the time.
macro(configure_command source)
  set(build "${SCRATCH}/${MODE}/build")
  file(REMOVE "${build}/CMakeCache.txt")
  set(command ${configure} ${ARGN} -S "${source}" -B "${build}")
endmacro()
function(configure_only source)
  configure_command("${source}" ${ARGN})
  run(${command})
  set(output "${output}" PARENT_SCOPE)
endfunction()
function(expect_refusal words source)
  configure_command("${source}" ${ARGN})
  expect_failure("${words}" ${command})
endfunction()

# Configures, builds and runs a consumer project from scratch.
function(build_consumer)
  set(build "${SCRATCH}/${MODE}/build")
  file(REMOVE_RECURSE "${build}")
  configure_only(${ARGN})
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${CTEST}" --test-dir "${build}" --output-on-failure --no-tests=error -R "^consumer$")
endfunction()

# Compiles main.cpp with the flags and runs it, without a build system.
function(compile_consumer source)
  separate_arguments(options NATIVE_COMMAND "${CXX_FLAGS}")
  set(program "${SCRATCH}/${MODE}/consumer")
  set(flags ${ARGN})
  list(FILTER flags EXCLUDE REGEX "\\.cpp$")
  set(objects)
  foreach(file IN LISTS source ARGN)
    if(file MATCHES "/([a-z]+)\\.cpp$")
      list(APPEND objects "${SCRATCH}/${MODE}/${CMAKE_MATCH_1}.o")
      run($ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${CXX}" ${options} -std=c++17 ${flags} -c "${file}" -o
          "${SCRATCH}/${MODE}/${CMAKE_MATCH_1}.o")
    endif()
  endforeach()
  run("${CXX}" ${options} ${objects} ${flags} -o "${program}")
  run("${program}")
  string(STRIP "${output}" output)
  expect("the consumer's output" "${output}" "tenon ${TENON_VERSION} works")
endfunction()

# Installs tenon from a build folder of its own, so that the developer's install manifest stays.
function(install_tenon build to)
  file(REMOVE_RECURSE "${build}" "${to}")
  run(${configure} ${ARGN} -S "${TENON_SOURCE_DIR}" -B "${build}")
  set(output "${output}" PARENT_SCOPE)
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${to}")
endfunction()

# Consumer projects, by where they have tenon from, and what of it.
set(installed "${here}/project" "-DCMAKE_PREFIX_PATH=${prefix}")
set(inside "${here}/project" -DCONSUMER_WAY=add_subdirectory "-DTENON_SOURCE_DIR=${TENON_SOURCE_DIR}")
set(library -DCONSUMER_SOURCE=main.cpp -DCONSUMER_TARGET=tenon::tenon)
set(aten -DCONSUMER_SOURCE=aten.cpp -DCONSUMER_TARGET=tenon::aten "-DCONSUMER_COMPONENTS=COMPONENTS,aten")

# All files below a folder, but for the ones whose names match `but_for`.
function(list_files result folder but_for)
  file(GLOB_RECURSE files LIST_DIRECTORIES FALSE RELATIVE "${folder}" "${folder}/*")
  list(FILTER files EXCLUDE REGEX "${but_for}")
  list(SORT files)
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

function(mode_install)
  install_tenon("${SCRATCH}/install/build" "${SCRATCH}/install/prefix")
  list_files(installed "${SCRATCH}/install/prefix/include" "^$")
  list_files(headers "${TENON_SOURCE_DIR}/include" "^$")
  list_files(testing "${TENON_SOURCE_DIR}/testing/include" "^$")
  list(APPEND headers ${testing})
  list(SORT headers)
  expect("the installed headers" "${installed}" "${headers}")
  file(READ "${TENON_SOURCE_DIR}/LICENSE" licence)
  file(READ "${SCRATCH}/install/prefix/include/tenon/LICENSE" own_licence)
  expect("the licence beside the headers" "${own_licence}" "${licence}")
  list_files(others "${SCRATCH}/install/prefix" "^include/")
  expect("what else is installed" "${others}"
         "share/cmake/tenon/executorch_runtime.cpp;share/cmake/tenon/tenonComponents.cmake;share/cmake/tenon/tenonConfig.cmake;share/cmake/tenon/tenonConfigVersion.cmake;share/cmake/tenon/tenonTargets.cmake;share/doc/tenon/LICENSE;share/pkgconfig/tenon.pc;share/tenon/debug/tenon_gdb.py;share/tenon/debug/tenon_lldb.py;share/tenon/debug/tenon_memory.py;share/tenon/debug/tenon_stacks.py"
  )
  # Moved, because an installed tree must not depend on where it was installed.
  file(REMOVE_RECURSE "${prefix}")
  file(RENAME "${SCRATCH}/install/prefix" "${prefix}")
endfunction()

function(mode_compiled)
  set(build "${SCRATCH}/compiled/library")
  file(REMOVE_RECURSE "${build}" "${SCRATCH}/compiled/prefix")
  run(${configure} -DTENON_COMPILED=ON -S "${TENON_SOURCE_DIR}"
      -B "${build}")
  run("${CMAKE_COMMAND}" --build "${build}")
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${SCRATCH}/compiled/prefix")
  build_consumer("${here}/project" "-DCMAKE_PREFIX_PATH=${SCRATCH}/compiled/prefix" -DCONSUMER_SOURCE=main.cpp
                 -DCONSUMER_TARGET=tenon::compiled -DCONSUMER_COMPONENTS=COMPONENTS,compiled)
  # The library is for one architecture: a program of the other size of pointers does not find it.
  expect_refusal("version: ${TENON_VERSION} (" "${here}/version" "-DCMAKE_PREFIX_PATH=${SCRATCH}/compiled/prefix"
                 -DCONSUMER_VERSION=${TENON_VERSION} -DCMAKE_SIZEOF_VOID_P=2)
endfunction()

function(mode_testing)
  set(suite -DCONSUMER_SOURCE=testing.cpp -DCONSUMER_TARGET=tenon::testing)
  configure_only(${installed} ${suite} -DCONSUMER_COMPONENTS=COMPONENTS,testing)
  build_consumer(${inside} ${suite})
endfunction()

function(mode_find_package)
  build_consumer(${installed} ${library})
endfunction()

# Asks find_package for a version; the answer is true when it was found.
function(ask_for_version version answer)
  file(REMOVE_RECURSE "${SCRATCH}/version/build")
  execute_process(COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${prefix}"
                          "-DCONSUMER_VERSION=${version}" -S "${here}/version" -B
                          "${SCRATCH}/version/build"
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0 AND output MATCHES "found tenon ${TENON_VERSION}")
    set(${answer} TRUE PARENT_SCOPE)
  elseif(NOT result EQUAL 0 AND output MATCHES "considered but not" AND output MATCHES
                                "tenonConfig.cmake, version: ${TENON_VERSION}")
    set(${answer} FALSE PARENT_SCOPE)
  else()
    message(FATAL_ERROR "find_package(tenon ${version}) neither found nor refused it:\n${output}")
  endif()
endfunction()

function(mode_version)
  string(REPLACE "." ";" numbers "${TENON_VERSION}")
  list(GET numbers 0 major)
  list(GET numbers 1 minor)
  list(GET numbers 2 patch)
  math(EXPR next_minor "${minor} + 1")
  math(EXPR next_patch "${patch} + 1")
  set(served "" "${major}.${minor}" "${TENON_VERSION}" "${major}.${minor}...<${major}.${next_minor}"
      "${major}.${minor}...${major}.99" "${TENON_VERSION}...${TENON_VERSION}")
  foreach(version IN LISTS served)
    ask_for_version("${version}" found)
    expect("tenon ${TENON_VERSION} serves a request for \"${version}\"" "${found}" TRUE)
  endforeach()
  set(refused 99 "${major}.${next_minor}" "${major}.${minor}.${next_patch}" "${major}.${next_minor}...99"
      "${major}.${minor}.${next_patch}...${major}.99")
  if(minor GREATER 0)
    math(EXPR previous_minor "${minor} - 1") # older, but not compatible
    list(APPEND refused "${major}.${previous_minor}" "${major}.${previous_minor}...99")
  endif()
  foreach(version IN LISTS refused)
    ask_for_version("${version}" found)
    expect("tenon ${TENON_VERSION} serves a request for \"${version}\"" "${found}" FALSE)
  endforeach()
  # An older CMake, as far as the package can tell: the version is set before it is read.
  expect_refusal("tenon needs CMake 3.22 or later; this is 3.18.4." "${here}/version" "-DCMAKE_PREFIX_PATH=${prefix}"
                 -DCONSUMER_CMAKE_VERSION=3.18.4)
endfunction()

# Two parts of a project that each bring tenon.
function(mode_twice)
  set(copy "${SCRATCH}/twice/copy")
  file(REMOVE_RECURSE "${copy}")
  foreach(part CMakeLists.txt cmake include src testing)
    file(COPY "${TENON_SOURCE_DIR}/${part}" DESTINATION "${copy}")
  endforeach()
  set(project "${here}/twice" "-DCMAKE_PREFIX_PATH=${prefix}" "-DTENON_SOURCE_DIR=${TENON_SOURCE_DIR}")
  build_consumer(${project} "-DCONSUMER_WAYS=${TENON_SOURCE_DIR},${copy}")
  configure_only(${project} "-DCONSUMER_WAYS=find_package,${copy}")
  configure_only(${project} "-DCONSUMER_WAYS=${copy},find_package")
  configure_only(${project} "-DCONSUMER_WAYS=find_package,find_package")
  configure_only(${project} "-DCONSUMER_WAYS=fetch_content,fetch_content")
  expect_refusal("TENON_COMPILED is ON, but this project has tenon already, without tenon::compiled: set it before the first one, or give it to find_package as COMPONENTS compiled."
                 ${project} "-DCONSUMER_WAYS=find_package,${copy}" -DTENON_COMPILED=ON)
  # Of two versions.
  string(REGEX MATCH "^[0-9]+\\.[0-9]+\\." series "${TENON_VERSION}")
  file(READ "${copy}/include/tenon/config.h" config)
  string(REGEX REPLACE "(#define TENON_VERSION_PATCH) [0-9]+" "\\1 99" config "${config}")
  file(WRITE "${copy}/include/tenon/config.h" "${config}")
  foreach(first find_package "${TENON_SOURCE_DIR}")
    expect_refusal("tenon: this project has tenon ${TENON_VERSION} already, and ${copy} is tenon ${series}99: bring in one of them, and link all targets to tenon::tenon."
                   ${project} "-DCONSUMER_WAYS=${first},${copy}")
  endforeach()
  expect_refusal("this project has tenon ${series}99 already, and ${prefix}/share/cmake/tenon is tenon ${TENON_VERSION}: bring in one of them"
                 ${project} "-DCONSUMER_WAYS=${copy},find_package")
endfunction()

function(mode_components)
  set(options "-DCMAKE_PREFIX_PATH=${prefix}" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON
              -DCMAKE_DISABLE_FIND_PACKAGE_executorch=ON -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
              "-DCMAKE_FIND_ROOT_PATH=${SCRATCH}" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)
  set(all -DCONSUMER_COMPONENTS=COMPONENTS,nonsense,compiled,module,aten,executorch,executorch_runtime,cuda,aoti)
  set(wrong "-DTENON_LIBTORCH_DIR=${SCRATCH}" "-DTENON_EXECUTORCH_DIR=${SCRATCH}" "-DTENON_CUDA_DIR=${SCRATCH}"
            "-DTENON_MINIZIP_DIR=${SCRATCH}")
  set(absent "nonsense: tenon has no such component. It has aten, aoti, compiled, cuda, executorch, executorch_compat, executorch_runtime, module and testing."
             "compiled: tenon was installed without it. Install tenon with -DTENON_COMPILED=ON."
             "module: tenon was installed without it. Install tenon with -DTENON_MODULE=ON."
             "aten: libtorch was not found, and TENON_LIBTORCH_DIR is not set."
             "executorch: ExecuTorch was not found, and TENON_EXECUTORCH_DIR is not set."
             "executorch_runtime: ExecuTorch was not found, and TENON_EXECUTORCH_DIR is not set."
             "cuda: CUDA was not found, and TENON_CUDA_DIR is not set."
             "aoti: minizip was not found, and TENON_MINIZIP_DIR is not set.")
  set(misnamed "aten: TENON_LIBTORCH_DIR has no libtorch: \"${SCRATCH}\"."
               "executorch: TENON_EXECUTORCH_DIR has no ExecuTorch: \"${SCRATCH}\"."
               "executorch_runtime: TENON_EXECUTORCH_DIR has no ExecuTorch: \"${SCRATCH}\"."
               "cuda: TENON_CUDA_DIR has no CUDA: \"${SCRATCH}\"."
               "aoti: TENON_MINIZIP_DIR has no minizip: \"${SCRATCH}\".")
  expect_refusal("${absent}" "${here}/version" ${options} ${all})
  expect_refusal("${misnamed}" "${here}/version" ${options} ${all} ${wrong})
  set(optional -DCONSUMER_COMPONENTS=OPTIONAL_COMPONENTS,nonsense,aten,executorch,executorch_runtime,cuda,aoti)
  configure_only("${here}/version" ${options} ${optional})
  expect_refusal("${misnamed}" "${here}/version" ${options} ${optional} ${wrong})
endfunction()

function(mode_options)
  set(tenon "${TENON_SOURCE_DIR}")
  foreach(option TENON_ATEN TENON_EXECUTORCH TENON_CUDA TENON_AOTI)
    expect_refusal("${option} is \"MAYBE\": it may be AUTO, ON or OFF." ${tenon} -D${option}=MAYBE)
  endforeach()
  expect_refusal("tenon: Catch2 was not found" ${tenon} -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON -DTENON_BUILD_TESTS=ON)
  list(APPEND inside ${library} -DCONSUMER_EXPECTS_INSTALL=OFF)
  foreach(project tenon inside)
    expect_refusal("TENON_LIBTORCH_DIR has no libtorch: \"${SCRATCH}\"" ${${project}} "-DTENON_LIBTORCH_DIR=${SCRATCH}")
    expect_refusal("TENON_EXECUTORCH_DIR has no ExecuTorch: \"${SCRATCH}\"" ${${project}} "-DTENON_EXECUTORCH_DIR=${SCRATCH}")
    expect_refusal("TENON_CUDA_DIR has no CUDA: \"${SCRATCH}\"" ${${project}} "-DTENON_CUDA_DIR=${SCRATCH}")
  endforeach()
endfunction()

function(mode_aten)
  set(named "-DTENON_LIBTORCH_DIR=${LIBTORCH_DIR}")
  build_consumer(${installed} ${aten} ${named})
  configure_only(${inside} ${aten} ${named})
  set(ENV{CMAKE_PREFIX_PATH} "${LIBTORCH_DIR}/torch/share/cmake")  # as torch.utils.cmake_prefix_path has it
  configure_only(${installed} ${aten} -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON)
endfunction()

function(mode_aten_debian)
  build_consumer(${installed} ${aten})
  configure_only(${inside} ${aten} -DTENON_ATEN=ON)
  configure_only(${installed} ${aten} -DCONSUMER_FINDS_TORCH=ON)
endfunction()

function(mode_executorch)
  build_consumer(${installed} -DCONSUMER_SOURCE=executorch.cpp -DCONSUMER_TARGET=tenon::executorch
                 "-DCONSUMER_COMPONENTS=COMPONENTS,executorch" "-DTENON_EXECUTORCH_DIR=${EXECUTORCH_DIR}"
                 "-DCONSUMER_ARGUMENT=${TENON_SOURCE_DIR}/examples/digits/data/digits.pte")
endfunction()

# Sources for ExecuTorch's headers, with a model that is a function; with ExecuTorch's includes on the path as well.
function(mode_executorch_compat)
  set(compat -DCONSUMER_SOURCE=executorch_compat.cpp -DCONSUMER_TARGET=tenon::executorch_compat)
  file(WRITE "${SCRATCH}/executorch_compat/real/executorch/extension/module/module.h" "#error \"another's\"\n")
  set(compat ${compat} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS} -isystem ${SCRATCH}/executorch_compat/real")
  build_consumer(${installed} ${compat} -DCONSUMER_COMPONENTS=COMPONENTS,executorch_compat)
  configure_only(${inside} ${compat})
endfunction()

# The same source, with a .pte, linked to ExecuTorch.
function(mode_executorch_runtime)
  set(both -DCONSUMER_SOURCE=executorch_compat.cpp "-DCONSUMER_TARGET=tenon::executorch_compat,tenon::executorch_runtime"
           "-DTENON_EXECUTORCH_DIR=${EXECUTORCH_DIR}"
           "-DCONSUMER_ARGUMENT=${TENON_SOURCE_DIR}/examples/digits/data/digits.pte")
  build_consumer(${installed} ${both} "-DCONSUMER_COMPONENTS=COMPONENTS,executorch_compat,executorch_runtime")
  configure_only(${inside} ${both})
endfunction()

function(mode_cuda)
  set(cuda -DCONSUMER_SOURCE=cuda.cpp -DCONSUMER_TARGET=tenon::cuda "-DCONSUMER_COMPONENTS=COMPONENTS,cuda")
  build_consumer(${installed} ${cuda})
  configure_only(${inside} ${cuda} -DTENON_CUDA=ON)
  # As the wheels unpack it: named, and without the compiler. A link's path is what the target then has.
  set(wheels "${SCRATCH}/cuda/wheels")
  file(MAKE_DIRECTORY "${wheels}/nvidia/cu13/lib")
  file(CREATE_LINK "${CUDA_INCLUDE}" "${wheels}/nvidia/cu13/include" SYMBOLIC)
  file(CREATE_LINK "${CUDART}" "${wheels}/nvidia/cu13/lib/libcudart.so.13" SYMBOLIC)
  configure_only(${installed} ${cuda} "-DTENON_CUDA_DIR=${wheels}" "-DCONSUMER_EXPECTS_LIBRARY_OF=${wheels}")
endfunction()

function(mode_aoti)
  set(aoti -DCONSUMER_SOURCE=aoti.cpp -DCONSUMER_TARGET=tenon::aoti "-DCONSUMER_COMPONENTS=COMPONENTS,aoti")
  set(model "${SCRATCH}/aoti/model.so")
  file(MAKE_DIRECTORY "${SCRATCH}/aoti")
  run("${CXX}" -std=c++17 -shared -fPIC "${TENON_SOURCE_DIR}/tests/unit/interop/runtimes/aoti/fake_model.cpp" -o "${model}")
  build_consumer(${installed} ${aoti} "-DCONSUMER_ARGUMENT=${model}")
  configure_only(${inside} ${aoti} -DTENON_AOTI=ON)
endfunction()

function(mode_pkg_config)
  file(MAKE_DIRECTORY "${SCRATCH}/pkg_config")
  set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig")
  run("${PKG_CONFIG}" --modversion tenon)
  string(STRIP "${output}" output)
  expect("pkg-config's version" "${output}" "${TENON_VERSION}")
  execute_process(COMMAND "${PKG_CONFIG}" --exists "tenon >= 99" RESULT_VARIABLE result)
  if(result EQUAL 0)
    message(FATAL_ERROR "pkg-config says that tenon ${TENON_VERSION} is 99 or later")
  endif()
  run("${PKG_CONFIG}" --cflags --libs tenon)
  separate_arguments(flags UNIX_COMMAND "${output}")
  compile_consumer("${here}/main.cpp" ${flags})
  compile_consumer("${here}/light.cpp" ${flags})
  # docs/building.md's way to the headers by ExecuTorch's paths.
  run("${PKG_CONFIG}" --variable=includedir tenon)
  string(STRIP "${output}" output)
  run("${CXX}" -std=c++17 -fsyntax-only ${flags} "-I${output}/tenon/compat/executorch_headers"
      "${here}/executorch_compat.cpp")
endfunction()

# Partners that must not be looked at.
function(plant_partners)
  set(partners "${SCRATCH}/${MODE}/partners")
  foreach(file libtorch/share/cmake/Torch/TorchConfig executorch/executorch-config)
    file(WRITE "${partners}/${file}.cmake" "message(FATAL_ERROR \"was looked for\")\n")
  endforeach()
  set(ENV{TENON_PARTNERS} "${partners}")
  set(ENV{CMAKE_PREFIX_PATH} "${partners}/libtorch:${partners}/executorch")
endfunction()

function(mode_add_subdirectory)
  plant_partners()
  build_consumer(${inside} ${library} -DCONSUMER_EXPECTS_INSTALL=OFF)
  expect_refusal("was looked for" ${inside} ${library} -DTENON_ATEN=ON)
  configure_only("${here}/project" -DCONSUMER_WAY=fetch_content "-DFETCHCONTENT_SOURCE_DIR_TENON=${TENON_SOURCE_DIR}"
                 ${library} "-DTENON_SOURCE_DIR=${TENON_SOURCE_DIR}" -DTENON_INSTALL=ON -DCONSUMER_EXPECTS_INSTALL=ON)
endfunction()

function(mode_single_header)
  set(folder "${SCRATCH}/single_header")
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}")
  set(script "${PYTHON}" -B "${TENON_SOURCE_DIR}/scripts/single_header.py")
  expect_failure("there is no header nonsense, but these: backend/arena " ${script} --with nonsense "${folder}/tenon.hpp")
  expect_failure("executorch may be any of these: compat/executorch interop/executorch" ${script} --with executorch
                 "${folder}/tenon.hpp")
  # The same program with the other include, alone in a folder: nothing else of tenon can be found.
  run(${script} "${folder}/tenon.hpp")
  file(READ "${here}/main.cpp" program)
  string(REPLACE "<tenon/tenon.h>" "\"tenon.hpp\"" program "${program}")
  file(WRITE "${folder}/main.cpp" "${program}")
  compile_consumer("${folder}/main.cpp" -Wall -Wextra)

  file(READ "${TENON_SOURCE_DIR}/LICENSE" licence)
  file(READ "${folder}/tenon.hpp" text)
  string(FIND "${text}" "${licence}" at)
  if(at EQUAL -1 OR at GREATER 200)
    message(FATAL_ERROR "tenon.hpp does not begin with the licence")
  endif()

  # Beside the folder it is one clear error.
  file(WRITE "${folder}/before.cpp" "#include \"tenon.hpp\"\n#include <tenon/ostream.h>\n")
  file(WRITE "${folder}/after.cpp" "#include <tenon/ostream.h>\n#include \"tenon.hpp\"\n")
  set(before_words "tenon.hpp is included too: make it with this header (--with), or use the folder alone")
  set(after_words "tenon.hpp and headers of the folder include/tenon are both included: use one of them")
  foreach(order before after)
    expect_failure("${${order}_words}" "${CXX}" -std=c++17 -fsyntax-only "-I${TENON_SOURCE_DIR}/include" "${folder}/${order}.cpp")
    string(REGEX MATCHALL "error: " errors "${output}")
    list(LENGTH errors count)
    if(count GREATER 2)  # #error, and the end of the compilation
      message(FATAL_ERROR "Too many errors:\n${output}")
    endif()
  endforeach()

  # Every header that needs no partner, in two files of one program. Without exceptions, since a libtorch that the
  # compiler finds would want to be linked.
  list_files(headers "${TENON_SOURCE_DIR}/include/tenon" "^aten/|^compat/executorch_headers/|^backend/cuda|^interop/([a-z]+/)?(aoti|aten|eigen|executorch|mpi|nanobind|npz|onnxruntime|opencv|pybind11|python|safetensors|torchscript|torch_file|torch_stable|xtensor)|^interop/files/torch_|^LICENSE$")
  list_files(testing "${TENON_SOURCE_DIR}/testing/include/tenon" "^$")
  list(APPEND headers ${testing})
  list(TRANSFORM headers REPLACE "\\.h$" "")
  list(JOIN headers "," headers)
  run(${script} --with "${headers}" "${folder}/tenon.hpp")
  file(WRITE "${folder}/other.cpp" "#define TENON_COMPILING\n#include \"tenon.hpp\"\n#include \"tenon.hpp\"\n")
  compile_consumer("${folder}/main.cpp" "${folder}/other.cpp" -DTENON_COMPILED -fno-exceptions -Wall -Wextra)
endfunction()

function(mode_uninstall)
  set(build "${SCRATCH}/uninstall/build")
  set(to "${SCRATCH}/uninstall/prefix")
  install_tenon("${build}" "${to}")
  # Somebody else's file in one of our folders, which must survive.
  file(WRITE "${to}/share/doc/tenon/notes.txt" "mine\n")
  run("${CMAKE_COMMAND}" --build "${build}" --target uninstall)
  list_files(left "${to}" "^$")
  expect("the files after uninstall" "${left}" "share/doc/tenon/notes.txt")
  file(GLOB_RECURSE left LIST_DIRECTORIES TRUE RELATIVE "${to}" "${to}/*")
  expect("the folders after uninstall" "${left}" "share;share/doc;share/doc/tenon;share/doc/tenon/notes.txt")
  # A second time there is nothing to do, which is no error.
  run("${CMAKE_COMMAND}" --build "${build}" --target uninstall)
  # A prefix with what globs, lists and encodings may stumble over; and a foreign file in a folder called tenon.
  set(to "${SCRATCH}/uninstall/é [1]/tenon/prefix")
  file(WRITE "${SCRATCH}/uninstall/é [1]/tenon/notes.txt" "mine\n")
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${to}")
  run("${CMAKE_COMMAND}" --build "${build}" --target uninstall)
  if(EXISTS "${to}/include/tenon" OR NOT EXISTS "${SCRATCH}/uninstall/é [1]/tenon/notes.txt")
    message(FATAL_ERROR "uninstall from \"${to}\" left tenon's files, or removed another:\n${output}")
  endif()
endfunction()

cmake_language(CALL "mode_${MODE}")
