#include "cache/key.h"

#include <string_view>

namespace heddle {
namespace {

void add_field(std::string* text, std::string_view name, std::string_view value) {
  text->append(name).append(" ").append(std::to_string(value.size()));
  text->append("\n").append(value).append("\n");
}

std::string source_part(const CacheKey& key) {
  std::string text;
  text.reserve(key.source_text.size() + key.options.size() + 512);
  text += "heddle key 1\n";
  add_field(&text, "kernel", key.kernel_name);
  add_field(&text, "arch", key.arch);
  add_field(&text, "options", key.options);
  add_field(&text, "file", key.file_name);
  add_field(&text, "source", key.source_text);
  return text;
}

std::string compiler_part(const CacheKey& key) {
  std::string text;
  add_field(&text, "compiler", key.compiler);
  return text;
}

}  // namespace

std::string CacheKey::source_digest() const { return hex(digest(source_part(*this))); }
std::string CacheKey::compiler_digest() const { return hex(digest(compiler_part(*this))); }
std::string CacheKey::id() const { return source_digest() + "-" + compiler_digest(); }
std::string CacheKey::text() const { return source_part(*this) + compiler_part(*this); }

std::string SerialKey::id() const { return hex(source_digest) + "-" + hex(compiler_digest); }

SerialKey serialize(const CacheKey& key) {
  SerialKey serial{source_part(key), compiler_part(key), {}, {}};
  serial.source_digest = digest(serial.source);
  serial.compiler_digest = digest(serial.compiler);
  return serial;
}

}  // namespace heddle
