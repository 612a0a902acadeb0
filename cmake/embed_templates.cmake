# Writes OUTPUT, a C++ file that holds every template of FOLDER by its path below it.
# Used as: cmake -DFOLDER=... -DOUTPUT=... -P embed_templates.cmake
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*.cuh ${FOLDER}/*.h)
list(SORT files)
set(text "#include \"generator/render/embedded.h\"\n\nnamespace heddle {\n\n")
string(APPEND text "const std::map<std::string, std::string, std::less<>>& embedded_templates() {\n")
string(APPEND text "  static const std::map<std::string, std::string, std::less<>> files{\n")
foreach(file ${files})
  file(READ ${FOLDER}/${file} content)
  string(APPEND text "      {\"${file}\", R\"heddle(${content})heddle\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace heddle\n")
file(WRITE ${OUTPUT} "${text}")
