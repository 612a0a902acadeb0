# Shared by the scripts of this folder.

# Runs a command; ends the test with its output if it fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
  set(run_output "${output}" PARENT_SCOPE)
endfunction()

# configure_project(SOURCE BINARY OPTION...): configures with this build's tools and flags.
function(configure_project source binary)
  run(${CMAKE_COMMAND} -S ${source} -B ${binary} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
      -DCMAKE_C_COMPILER=${CC} -DCMAKE_C_FLAGS=${CXX_FLAGS} -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DCMAKE_BUILD_TYPE=${BUILD_TYPE} ${ARGN})
endfunction()

# build_project(SOURCE BINARY OPTION...): the same, and builds.
function(build_project source binary)
  configure_project(${source} ${binary} ${ARGN})
  run(${CMAKE_COMMAND} --build ${binary} --config ${BUILD_TYPE} -j 2)
endfunction()

# Runs a program that plans; its output must name the version and the kernels.
function(check_planner program)
  run(${program})
  if(NOT run_output MATCHES "heddle [0-9.]+: [1-9][0-9]* kernels")
    message(FATAL_ERROR "${program} printed: ${run_output}")
  endif()
endfunction()

# Runs a program that packs the layers of a checkpoint; its output must match, and name the layer.
function(check_reader program expected)
  run(${program} ${SOURCE_DIR}/tests/golden/gptq4_k128_n32_g32)
  if(NOT run_output MATCHES "${expected}model.proj: [1-9][0-9]* packed bytes")
    message(FATAL_ERROR "${program} printed: ${run_output}")
  endif()
endfunction()

# Runs the consumer program in C++; its output must name the version and the kernels, too.
function(check_consumer program)
  check_reader(${program} "heddle [0-9.]+: [1-9][0-9]* kernels.*")
endfunction()

# check_pkg_config(PREFIX WORK): moves the package installed in PREFIX to WORK/moved, then builds and runs the
# consumers in C++ and in C with what pkg-config says of it, and with nothing of CMake's. They start as they are:
# the loader is told of no folder.
function(check_pkg_config prefix work)
  find_program(pkg_config pkg-config)
  if(NOT pkg_config)
    message(FATAL_ERROR "pkg-config is missing (Debian and Ubuntu: apt install pkgconf)")
  endif()
  file(REMOVE_RECURSE ${work})
  file(MAKE_DIRECTORY ${work})
  file(RENAME ${prefix} ${work}/moved)
  file(GLOB_RECURSE description ${work}/moved/*/heddle.pc)
  file(READ ${description} text)
  foreach(folder ${SOURCE_DIR} ${BUILD_DIR} ${prefix})
    string(FIND "${text}" "${folder}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${description} names ${folder}")
    endif()
  endforeach()
  get_filename_component(folder ${description} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  run(${pkg_config} --modversion heddle)
  file(STRINGS ${SOURCE_DIR}/include/heddle/version.h version REGEX "define HEDDLE_VERSION \"")
  string(STRIP "${run_output}" run_output)
  if(NOT version MATCHES "\"${run_output}\"")
    message(FATAL_ERROR "heddle.pc is of version ${run_output}, the header says ${version}")
  endif()
  separate_arguments(compiler_flags UNIX_COMMAND "${CXX_FLAGS}")
  run(${pkg_config} --cflags heddle)
  separate_arguments(cflags UNIX_COMMAND "${run_output}")
  set(consumer ${SOURCE_DIR}/tests/package/consumer)
  foreach(static "" --static)
    run(${pkg_config} ${static} --libs heddle)
    separate_arguments(libs UNIX_COMMAND "${run_output}")
    run(${CXX} ${compiler_flags} -std=c++17 ${cflags} ${consumer}/main.cc -o ${work}/consumer ${libs})
    check_consumer(${work}/consumer)
    run(${CC} ${compiler_flags} -std=c99 ${cflags} ${consumer}/main.c -o ${work}/consumer_c ${libs})
    check_planner(${work}/consumer_c)
  endforeach()
endfunction()
