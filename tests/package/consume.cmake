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

# An editor's schema is what the command prints; what the pages link to came along.
run(${prefix}/bin/heddle schema)
file(GLOB_RECURSE schema ${prefix}/*/heddle/heddle.schema.json)
file(READ ${schema} schema_text)
if(NOT "${schema_text}" STREQUAL "${run_output}")
  message(FATAL_ERROR "heddle.schema.json is not what heddle schema prints")
endif()
file(GLOB_RECURSE pages ${prefix}/share/doc/*.md)
set(links 0)
foreach(page ${pages})
  get_filename_component(folder ${page} DIRECTORY)
  file(READ ${page} text)
  # A lone bracket would join the elements of a list.
  string(REPLACE "](" "@(" text "${text}")
  string(REGEX MATCHALL "@\\([A-Za-z0-9_./-]+[)#]" targets "${text}")
  foreach(target ${targets})
    string(REGEX REPLACE "^@.(.*).$" "\\1" target ${target})
    if(NOT EXISTS ${folder}/${target})
      message(FATAL_ERROR "${page} links to ${target}, which was not installed")
    endif()
    math(EXPR links "${links} + 1")
  endforeach()
endforeach()
if(links LESS 20)
  message(FATAL_ERROR "${links} links found in what was installed: ${pages}")
endif()

check_pkg_config(${prefix} ${WORK_DIR}/consume/pkg_config)
