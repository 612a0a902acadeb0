# Every public header alone, as C++17, with what it includes.
include(${CMAKE_CURRENT_LIST_DIR}/functions.cmake)

set(include_dir ${SOURCE_DIR}/include)
file(GLOB_RECURSE headers RELATIVE ${include_dir} ${include_dir}/heddle/*)
list(LENGTH headers count)
if(count LESS 10)
  message(FATAL_ERROR "only ${count} public headers found in ${include_dir}")
endif()
foreach(header ${headers})
  set(unit ${WORK_DIR}/headers/${header}.cc)
  # Twice: the include guard is part of the contract.
  file(WRITE ${unit} "#include \"${header}\"\n#include \"${header}\"\n")
  run(${CXX} -std=c++17 -Wall -Wextra -Wpedantic -Werror -I${include_dir} -fsyntax-only ${unit})
  run(${CXX} -std=c++17 -I${include_dir} -M ${unit})
  # The checkout itself may lie in a folder of any name.
  string(REPLACE "${include_dir}/" "" run_output "${run_output}")
  string(REPLACE "${WORK_DIR}/" "" run_output "${run_output}")
  if(run_output MATCHES "[^ ]*/(nlohmann|fmt|CLI|cuda)[^ ]*|[^ ]*(cuda|nvrtc|xxhash)[^ /]*\\.h")
    message(FATAL_ERROR "${header} includes ${CMAKE_MATCH_0}")
  endif()
  # An engine depends on nothing that a kernel is made of.
  if(NOT header MATCHES "heddle/inspect" AND run_output MATCHES "heddle/inspect/[^ ]*")
    message(FATAL_ERROR "${header} includes ${CMAKE_MATCH_0}")
  endif()
endforeach()

# Every header of the C API as C99, alone and twice.
file(GLOB_RECURSE c_headers RELATIVE ${include_dir} ${include_dir}/heddle/c/*)
foreach(header heddle/heddle.h ${c_headers})
  set(unit ${WORK_DIR}/headers/${header}.c)
  file(WRITE ${unit} "#include \"${header}\"\n#include \"${header}\"\n")
  run(${CC} -std=c99 -Wall -Wextra -Wpedantic -Werror -I${include_dir} -fsyntax-only ${unit})
endforeach()
