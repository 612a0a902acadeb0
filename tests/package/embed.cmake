# add_subdirectory with a static library; then the static library's own package.
include(${CMAKE_CURRENT_LIST_DIR}/functions.cmake)

# The build is kept between runs, because it compiles the whole library; without optimisation and
# with precompiled headers, in a third of the time, since only how it is put together is looked at.
set(BUILD_TYPE Debug)
set(build ${WORK_DIR}/embed/build)
set(prefix ${WORK_DIR}/embed/prefix)
file(REMOVE_RECURSE ${prefix} ${WORK_DIR}/embed/consumer)
build_project(${CMAKE_CURRENT_LIST_DIR}/embedded ${build} -DHEDDLE_SOURCE_DIR=${SOURCE_DIR}
              -DBUILD_SHARED_LIBS=OFF -DHEDDLE_PRECOMPILE_HEADERS=ON)
check_consumer(${build}/embedded)

run(${CMAKE_COMMAND} --install ${build} --prefix ${prefix} --config ${BUILD_TYPE})
build_project(${CMAKE_CURRENT_LIST_DIR}/consumer ${WORK_DIR}/embed/consumer
              -DCMAKE_PREFIX_PATH=${prefix})
check_consumer(${WORK_DIR}/embed/consumer/consumer)
check_planner(${WORK_DIR}/embed/consumer/consumer_c)
check_reader(${WORK_DIR}/embed/consumer/reader_c "")
check_pkg_config(${prefix} ${WORK_DIR}/embed/pkg_config)
