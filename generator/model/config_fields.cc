#include "generator/model/config_fields.h"

#include <algorithm>
#include <map>

#include "generator/model/model_block.h"
#include "generator/model/rope.h"

namespace heddle {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Finds the fields in expressions, and in those of the names that they use.
class FieldFinder {
 public:
  explicit FieldFinder(const FamilyRow& family) {
    for (const NamedExpression& name : default_names()) names_[name.name] = name.is;
    for (const NamedExpression& name : family.names) names_[name.name] = name.is;
  }

  void add(Expression text) {
    while (!text.empty()) {
      if (text.front() == '\'') text.remove_prefix(std::min(text.find('\'', 1), text.size() - 1));
      const bool is_word = is_letter(text.front()) && (text.front() < '0' || text.front() > '9');
      if (is_word) {
        add_path(&text);
      } else {
        text.remove_prefix(1);
      }
    }
  }
  FieldPaths take() { return std::move(paths_); }
  void add_field(std::string path) { paths_.insert(std::move(path)); }

 private:
  static std::string_view word(Expression* text) {
    const auto end = std::find_if_not(text->begin(), text->end(), is_letter);
    const std::string_view found = text->substr(0, static_cast<std::size_t>(end - text->begin()));
    text->remove_prefix(found.size());
    return found;
  }

  // Where the bracket at the front is closed.
  static std::size_t end_of_index(Expression text) {
    std::size_t open = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '[') ++open;
      if (text[at] == ']' && --open == 0) return at;
    }
    return text.size() - 1;
  }

  // A word with its members; what stands in brackets is an expression of its own.
  void add_path(Expression* text) {
    const std::string_view first = word(text);
    std::string path(first);
    const bool calls = text->starts_with("(");
    while (text->starts_with(".") || text->starts_with("[")) {
      if (text->front() == '.') {
        text->remove_prefix(1);
        path.append(".").append(word(text));
        continue;
      }
      const std::size_t end = end_of_index(*text);
      add(text->substr(1, end - 1));
      text->remove_prefix(end + 1);
    }
    constexpr std::string_view kWords[] = {"true", "false", "null", "layer", "has", "root"};
    if (calls || std::find(std::begin(kWords), std::end(kWords), first) != std::end(kWords)) return;
    const auto named = names_.find(first);
    if (named == names_.end() || !open_.insert(first).second) return add_field(std::move(path));
    add(named->second);
    open_.erase(first);
  }

  std::map<std::string_view, Expression> names_;
  std::set<std::string_view> open_;
  FieldPaths paths_;
};

// What rope_of() reads.
void add_rope(const RopeRow& row, FieldFinder* finder) {
  if (row.when == "false") return;
  finder->add_field("original_max_position_embeddings");
  for (const char* const object : {"rope_scaling", "rope_parameters"}) {
    for (const std::string_view member : rope_parameter_names()) {
      finder->add_field(std::string(object).append(".").append(member));
      if (row.kind.empty()) continue;
      finder->add_field(
          std::string(object).append(".").append(row.kind).append(".").append(member));
    }
  }
  for (const char* const name : {"rope_theta", "partial_rotary_factor"}) {
    const bool elsewhere =
        name == std::string_view("rope_theta") ? !row.base.empty() : !row.dim.empty();
    if (elsewhere) continue;
    finder->add_field(name);
    finder->add_field(std::string("rope_scaling.") + name);
    finder->add_field(std::string("rope_parameters.") + name);
    if (row.kind.empty()) continue;
    finder->add_field(std::string("rope_parameters.").append(row.kind).append(".").append(name));
  }
}

bool is_ignored(std::string_view path) {
  return std::any_of(ignored_fields().begin(), ignored_fields().end(), [&](const auto& group) {
    return std::find(group.paths.begin(), group.paths.end(), path) != group.paths.end();
  });
}

bool has_members(const FieldPaths& fields, std::string_view path) {
  const std::string members = std::string(path) + ".";
  const auto found = fields.lower_bound(members);
  return found != fields.end() && found->starts_with(members);
}

bool says_nothing(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return true;
    case Node::Kind::kString:
      return node.text.empty();
    case Node::Kind::kArray:
    case Node::Kind::kObject:
      return node.items.empty();
    default:
      return false;
  }
}

void add_unknown(const FieldPaths& fields, const Node& node, const std::string& path,
                 FieldPaths* unknown) {
  if (node.kind == Node::Kind::kArray) {
    for (const Node& item : node.items) add_unknown(fields, item, path, unknown);
    return;
  }
  for (std::size_t i = 0; node.kind == Node::Kind::kObject && i < node.items.size(); ++i) {
    const std::string& key = node.keys[i];
    // Objects may have a member for each layer, as lists have.
    const bool is_index = !path.empty() && key.find_first_not_of("0123456789") == key.npos;
    if (is_index) add_unknown(fields, node.items[i], path, unknown);
    if (is_index) continue;
    std::string member = path;
    member.append(path.empty() ? "" : ".").append(key);
    if (says_nothing(node.items[i]) || is_ignored(member)) continue;
    if (has_members(fields, member)) {
      add_unknown(fields, node.items[i], member, unknown);
    } else if (!is_known(fields, member)) {
      unknown->insert(member);
    }
  }
}

}  // namespace

FieldPaths fields_of(const FamilyRow& family) {
  FieldFinder finder(family);
  for_each_expression(family, [&](Expression text) { finder.add(text); });
  for (const MixerRow& mixer : family.mixers) {
    const bool attends =
        mixer.kind == MixerKind::kAttention || mixer.kind == MixerKind::kLatentAttention;
    if (attends) add_rope(mixer.attention.rope, &finder);
  }
  for (const std::string_view name : family.unused) finder.add_field(std::string(name));
  return finder.take();
}

bool is_known(const FieldPaths& fields, std::string_view path) {
  if (has_members(fields, path)) return true;
  for (std::string_view whole = path; !whole.empty();
       whole = whole.substr(0, std::min(whole.rfind('.'), whole.size()))) {
    if (fields.count(whole) != 0 || is_ignored(whole)) return true;
    if (whole.find('.') == whole.npos) break;
  }
  return false;
}

std::string unknown_fields(const FamilyRow& family, const Node& config) {
  FieldPaths unknown;
  add_unknown(fields_of(family), config, "", &unknown);
  constexpr std::size_t kMostNamed = 40;
  std::string text;
  std::size_t named = 0;
  for (const std::string& path : unknown) {
    if (++named > kMostNamed) {
      return text + " and " + std::to_string(unknown.size() - kMostNamed) + " more";
    }
    text += (text.empty() ? "" : ", ") + excerpt(path);
  }
  return text;
}

}  // namespace heddle
