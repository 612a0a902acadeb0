# heddle.pc, for programs that are built without CMake. Its paths follow the folder that it lies in, so that an
# installed tree may be moved, unless the builder chose absolute folders.
foreach(dir libdir includedir)
  string(TOUPPER CMAKE_INSTALL_${dir} chosen)
  set(heddle_pc_${dir} ${${chosen}})
  if(NOT IS_ABSOLUTE ${heddle_pc_${dir}})
    set(heddle_pc_${dir} \${prefix}/${heddle_pc_${dir}})
  endif()
endforeach()
set(heddle_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(heddle_pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${heddle_pc_dir})
  file(RELATIVE_PATH heddle_pc_prefix /prefix/${heddle_pc_dir} /prefix)
  string(REGEX REPLACE "/$" "" heddle_pc_prefix \${pcfiledir}/${heddle_pc_prefix})
endif()

# One library is installed, the shared or the static one. What the static one needs stands in Libs, so that
# the answer is right with and without `pkg-config --static`.
set(heddle_pc_requires "")
set(heddle_pc_libs "")
if(NOT BUILD_SHARED_LIBS)
  set(heddle_pc_requires " fmt")
  set(libraries ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS} ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
  # A compiler of C adds these by itself, but not the C++ library.
  list(REMOVE_ITEM libraries gcc gcc_s c)
  list(TRANSFORM libraries REPLACE "^-l?" "")
  list(REMOVE_DUPLICATES libraries)
  list(TRANSFORM libraries PREPEND " -l")
  string(CONCAT heddle_pc_libs ${libraries})
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/heddle.pc.in ${PROJECT_BINARY_DIR}/heddle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heddle.pc DESTINATION ${heddle_pc_dir})
