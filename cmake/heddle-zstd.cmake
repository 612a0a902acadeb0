# The target heddle::zstd: libzstd.a, so that neither a program nor libheddle.so needs libzstd.so. Found by
# hand, because not every distribution's package comes with files for CMake.
find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_STATIC_LIBRARY libzstd.a)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_STATIC_LIBRARY)
  message(FATAL_ERROR "heddle needs zstd.h and the static libzstd.a, of Debian's package libzstd-dev. "
                      "Elsewhere set ZSTD_INCLUDE_DIR and ZSTD_STATIC_LIBRARY.")
endif()
if(NOT TARGET heddle::zstd)
  add_library(heddle::zstd STATIC IMPORTED GLOBAL)
  set_target_properties(heddle::zstd PROPERTIES IMPORTED_LOCATION ${ZSTD_STATIC_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE_DIR})
endif()
