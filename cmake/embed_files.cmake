# Writes OUTPUT, a C++ file with FUNCTION, which HEADER declares: every file of FOLDER that one of
# PATTERNS, "*.cuh,*.h", matches, by its path below it.
# Used as: cmake -DFOLDER=... -DPATTERNS=... -DHEADER=... -DFUNCTION=... -DOUTPUT=... -P embed_files.cmake
string(REPLACE "," ";" patterns "${PATTERNS}")
list(TRANSFORM patterns PREPEND ${FOLDER}/)
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${patterns})
list(SORT files)
set(text "#include \"${HEADER}\"\n\nnamespace heddle {\n\n")
string(APPEND text "const std::map<std::string, std::string, std::less<>>& ${FUNCTION}() {\n")
string(APPEND text "  static const std::map<std::string, std::string, std::less<>> files{\n")
foreach(file ${files})
  file(READ ${FOLDER}/${file} content)
  string(APPEND text "      {\"${file}\", R\"heddle(${content})heddle\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace heddle\n")
file(WRITE ${OUTPUT} "${text}")
