# add_subdirectory with a static library; then the static library's own package.
include(${CMAKE_CURRENT_LIST_DIR}/functions.cmake)

# How the library is put together is looked at, not what its files compile to: those that the build
# of this test compiles by the same command are copied from there.
set(ENV{CMAKE_CXX_COMPILER_LAUNCHER}
    "${PYTHON};-B;${CMAKE_CURRENT_LIST_DIR}/reuse_objects.py;${BUILD_DIR}/compile_commands.json")
set(build ${WORK_DIR}/embed/build)
set(prefix ${WORK_DIR}/embed/prefix)
file(REMOVE_RECURSE ${WORK_DIR}/embed)
build_project(${CMAKE_CURRENT_LIST_DIR}/embedded ${build} -DHEDDLE_SOURCE_DIR=${SOURCE_DIR}
              -DBUILD_SHARED_LIBS=OFF)
check_consumer(${build}/embedded)

run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix} --config ${BUILD_TYPE})
build_project(${CMAKE_CURRENT_LIST_DIR}/consumer ${WORK_DIR}/embed/consumer
              -DCMAKE_PREFIX_PATH=${prefix})
check_consumer(${WORK_DIR}/embed/consumer/consumer)
check_planner(${WORK_DIR}/embed/consumer/consumer_c)
check_reader(${WORK_DIR}/embed/consumer/reader_c "")
check_pkg_config(${prefix} ${WORK_DIR}/embed/pkg_config)
