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

# An editor's schema is what the command prints; the pages that README.md links to came along.
run(${prefix}/bin/heddle schema)
file(GLOB_RECURSE schema ${prefix}/*/heddle/heddle.schema.json)
file(READ ${schema} schema_text)
if(NOT "${schema_text}" STREQUAL "${run_output}")
  message(FATAL_ERROR "heddle.schema.json is not what heddle schema prints")
endif()
file(GLOB_RECURSE readme ${prefix}/share/doc/*/README.md)
list(FILTER readme EXCLUDE REGEX "/examples/")
file(READ ${readme} readme_text)
string(REGEX MATCHALL "\\((docs|examples)/[^)#]*" links "${readme_text}")
list(LENGTH links count)
if(count LESS 5)
  message(FATAL_ERROR "${readme} has ${count} links to pages and examples")
endif()
get_filename_component(pages ${readme} DIRECTORY)
foreach(link ${links})
  string(SUBSTRING ${link} 1 -1 path)
  if(NOT EXISTS ${pages}/${path})
    message(FATAL_ERROR "${readme} links to ${path}, which was not installed")
  endif()
endforeach()

check_pkg_config(${prefix} ${WORK_DIR}/consume/pkg_config)
