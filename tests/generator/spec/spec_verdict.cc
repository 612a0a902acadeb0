// Reads one JSON document per line and prints the parser's verdict of each: "ok" or "error ...".
// With --schema: prints the JSON Schema.
#include <iostream>
#include <string>
#include <string_view>

#include "heddle/error.h"
#include "heddle/spec.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--schema") {
    std::cout << heddle::spec_schema();
    return 0;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      heddle::Spec::parse(line);
      std::cout << "ok\n";
    } catch (const heddle::Error& error) {
      std::string message = error.what();
      for (char& c : message) c = c == '\n' ? ' ' : c;
      std::cout << "error " << error.code() << ' ' << message << '\n';
    }
  }
}
