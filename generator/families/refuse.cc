#include "generator/families/refuse.h"

#include "generator/families/gemm_config.h"
#include "generator/spec/in_quotes.h"

namespace heddle {

void refuse_found_scales(const GemmSpec& spec, Reasons& reasons) {
  reasons.unless(!finds_output_scales(spec), "/output/granularity",
                 "its threads do not meet to find the scale of 128 outputs", "\"group\"",
                 "\"tensor\", or Y of 16 bits");
}

void refuse_path(const GemmSpec& spec, const char* message, const char* allowed, Reasons& reasons) {
  reasons.unless(false, "/path", message, in_quotes(to_string(spec.path)), allowed);
}

}  // namespace heddle
