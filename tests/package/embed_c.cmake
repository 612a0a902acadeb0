# add_subdirectory from a project in C alone, with a shared and with a static library: that CMake can
# write the build. What it would compile is what embed.cmake compiles.
include(${CMAKE_CURRENT_LIST_DIR}/functions.cmake)

foreach(shared ON OFF)
  set(build ${WORK_DIR}/embed_c/${shared})
  file(REMOVE_RECURSE ${build})
  configure_project(${CMAKE_CURRENT_LIST_DIR}/embedded_c ${build} -DHEDDLE_SOURCE_DIR=${SOURCE_DIR}
                    -DBUILD_SHARED_LIBS=${shared})
endforeach()
