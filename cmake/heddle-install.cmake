# What `cmake --install` puts down: the library, its headers, the packages that find_package and pkg-config
# find, and the pages. The command and the JSON Schema of specs come from tools/heddle.
include(CMakePackageConfigHelpers)
include(heddle-pkg-config)

set(heddle_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
install(TARGETS heddle EXPORT heddle-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/heddle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${heddle_package_dir})

# A shared heddle carries what it needs; a static one makes its consumer link it.
set(heddle_needs_dependencies OFF)
if(NOT BUILD_SHARED_LIBS)
  set(heddle_needs_dependencies ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/heddle-config.cmake.in
                              ${PROJECT_BINARY_DIR}/heddle-config.cmake
                              INSTALL_DESTINATION ${heddle_package_dir})
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddle-config-version.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddle-config.cmake
              ${PROJECT_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${heddle_package_dir})
if(heddle_needs_dependencies)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/heddle-zstd.cmake DESTINATION ${heddle_package_dir})
endif()

# The pages link to one another, to examples and to measurements, so all keep their places.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(folder docs examples results)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
