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
