# heddle_embed(FUNCTION HEADER PATTERN...): the files of this folder that a pattern matches become part of the
# library, so that nothing is read at run time: FUNCTION, which HEADER declares, returns them.
function(heddle_embed function header)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cc)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE globs)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${globs})
  list(JOIN ARGN "," patterns)
  # Changes with the files that there are: one that goes makes nothing newer.
  set(file_list ${output}.files)
  file(GENERATE OUTPUT ${file_list} CONTENT "${files}\n")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR} -DPATTERNS=${patterns}
            -DHEADER=${header} -DFUNCTION=${function} -DOUTPUT=${output} -P ${script}
    DEPENDS ${files} ${file_list} ${script}
    VERBATIM)
  add_custom_target(heddle_${function} DEPENDS ${output})
  add_dependencies(heddle_core heddle_${function})
  target_sources(heddle_core PRIVATE ${output})
  # A test has files of its own in their place.
  set_source_files_properties(${output} TARGET_DIRECTORY heddle_core PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
