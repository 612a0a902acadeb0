// SourceList: the sources of several plans, each once. Plans of one shape share their sources, and
// so what is compiled of them.
#ifndef HEDDLE_GENERATOR_RENDER_SOURCE_LIST_H_
#define HEDDLE_GENERATOR_RENDER_SOURCE_LIST_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "heddle/inspect/source.h"

namespace heddle {

class SourceList {
 public:
  // The place of the source, which is put at the end if it is new.
  std::size_t add(Source source) {
    const auto [place, is_new] = places_.try_emplace(key_of(source), sources_.size());
    if (is_new) sources_.push_back(std::move(source));
    return place->second;
  }
  // Precondition: the source was added.
  std::size_t place_of(const Source& source) const { return places_.at(key_of(source)); }

  const std::vector<Source>& sources() const noexcept { return sources_; }
  std::size_t size() const noexcept { return sources_.size(); }
  // The sources; the list is of no use afterwards.
  std::vector<Source> take() { return std::move(sources_); }

 private:
  using Key = std::pair<std::string, std::string>;
  // The file's name says what the text is.
  static Key key_of(const Source& source) { return {source.file_name, source.arch}; }

  std::vector<Source> sources_;
  std::map<Key, std::size_t> places_;
};

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_RENDER_SOURCE_LIST_H_
