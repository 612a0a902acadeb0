# heddle_precompile(TARGET HEADER...): headers that most of its files include are parsed once, which
# saves a third of a build. Off with a compiler cache, which saves more and handles them badly.
set(heddle_precompile OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(heddle_precompile ON)
endif()
option(HEDDLE_PRECOMPILE_HEADERS "Parse headers that many files read once" ${heddle_precompile})

# GCC 12 sees both, wrongly, in what it inlines from precompiled headers of the standard library.
set(heddle_precompile_options
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overread>)

function(heddle_precompile target)
  if(HEDDLE_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE ${heddle_precompile_options})
  endif()
endfunction()

# As above, with the headers of another target, which has the same flags.
function(heddle_precompile_as target other)
  if(HEDDLE_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${other})
    target_compile_options(${target} PRIVATE ${heddle_precompile_options})
  endif()
endfunction()
