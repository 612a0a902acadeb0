// A short name for a text's content.
#ifndef HEDDLE_GENERATOR_RENDER_DIGEST_H_
#define HEDDLE_GENERATOR_RENDER_DIGEST_H_

#include <string>
#include <string_view>

namespace heddle {

// 16 hex digits of XXH3-64. It names files; what trusts a content compares the content.
std::string content_digest(std::string_view text);

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_DIGEST_H_
