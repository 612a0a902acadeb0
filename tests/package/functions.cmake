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
      -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DCMAKE_BUILD_TYPE=${BUILD_TYPE} ${ARGN})
endfunction()

# build_project(SOURCE BINARY OPTION...): the same, and builds.
function(build_project source binary)
  configure_project(${source} ${binary} ${ARGN})
  run(${CMAKE_COMMAND} --build ${binary} --config ${BUILD_TYPE} -j 2)
endfunction()

# Runs the consumer program; its output must name the version and the kernels.
function(check_consumer program)
  run(${program})
  if(NOT run_output MATCHES "heddle [0-9.]+: [1-9][0-9]* kernels")
    message(FATAL_ERROR "${program} printed: ${run_output}")
  endif()
endfunction()
