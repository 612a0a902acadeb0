// The Config struct of a rendered kernel, and others that a template takes.
#ifndef HEDDLE_GENERATOR_RENDER_CONFIG_H_
#define HEDDLE_GENERATOR_RENDER_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// Collects the members in order and checks them against what the template names.
class ConfigWriter {
 public:
  void number(std::string name, std::int64_t value);
  void flag(std::string name, bool value);
  void enumerator(std::string name, std::string type, std::string value);
  void type(std::string name, std::string value);

  // "struct NAME { ... };". Throws Error(kInternal, "render.parameters") if a parameter of the
  // template is missing here or one here is unknown to it.
  std::string text(std::string_view template_path, std::string_view name = "Config") const;

 private:
  struct Member {
    std::string name;
    std::string line;
  };
  std::vector<Member> members_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_CONFIG_H_
