# Install, find_package, build, run.
include(${CMAKE_CURRENT_LIST_DIR}/functions.cmake)

set(prefix ${WORK_DIR}/consume/prefix)
file(REMOVE_RECURSE ${WORK_DIR}/consume)
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix} --config ${BUILD_TYPE})
build_project(${CMAKE_CURRENT_LIST_DIR}/consumer ${WORK_DIR}/consume/build
              -DCMAKE_PREFIX_PATH=${prefix})
check_consumer(${WORK_DIR}/consume/build/consumer)
check_planner(${WORK_DIR}/consume/build/consumer_c)
check_reader(${WORK_DIR}/consume/build/reader_c "")
run(${prefix}/bin/heddle --version)

# Nothing that was installed may point back to where it was built.
file(GLOB_RECURSE package_files ${prefix}/*.cmake)
foreach(file ${package_files})
  file(READ ${file} text)
  string(FIND "${text}" "${SOURCE_DIR}" source_at)
  string(FIND "${text}" "${BUILD_DIR}" build_at)
  # The prefix of this test lies in the build folder, but files are relocatable: none names it.
  if(NOT source_at EQUAL -1 OR NOT build_at EQUAL -1)
    message(FATAL_ERROR "${file} names the source or build folder")
  endif()
endforeach()
