// LazyText: a text that is decompressed when it is first read.
#ifndef HEDDLE_INSPECT_LAZY_TEXT_H_
#define HEDDLE_INSPECT_LAZY_TEXT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/export.h"

namespace heddle {

// Copies share the text. Any thread may read one, also while others do.
class HEDDLE_EXPORT LazyText {
 public:
  LazyText() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a text is assigned as to a std::string.
  LazyText(std::string text);
  // NOLINTNEXTLINE(google-explicit-constructor)
  LazyText(const char* text);
  // `make` is called at most once, by the first function below that is called, and then dropped.
  explicit LazyText(std::function<std::string()> make);

  // Lives as long as any copy of this object. Throws what `make` throws; the next call tries again.
  const std::string& str() const;
  // NOLINTNEXTLINE(google-explicit-constructor): what reads texts need not know that it is lazy.
  operator std::string_view() const { return str(); }
  std::size_t size() const { return str().size(); }
  bool empty() const { return str().empty(); }

 private:
  struct State;
  std::shared_ptr<State> state_;  // null: empty
};

inline bool operator==(const LazyText& a, const LazyText& b) { return a.str() == b.str(); }

}  // namespace heddle

#endif  // HEDDLE_INSPECT_LAZY_TEXT_H_
