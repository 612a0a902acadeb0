// Standard output: text for people or one JSON document, written whole or reported as not.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_OUTPUT_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_OUTPUT_H_

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string_view>

namespace heddle {

class OutputError : public std::runtime_error {
 public:
  explicit OutputError(int error_number);
  // Standard output is a pipe that nobody reads any more.
  bool reader_is_gone() const noexcept { return reader_is_gone_; }

 private:
  bool reader_is_gone_;
};

// Opens those of stdin, stdout and stderr that the parent has closed, in such a way that using them
// fails; else a cache file could get their number, and a message would end up in it.
void hold_standard_streams();

// Each throws OutputError.
//
// Text for people, which may hold names of inputs: printable_lines() of it. A name that must not
// break a line goes through printable() first.
void print(std::string_view text);
// Text that another program reads: CUDA, PTX.
void print_exact(std::string_view text);
void print_json(const nlohmann::ordered_json& document);
void flush_output();

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_OUTPUT_H_
