#include <mutex>
#include <utility>

#include "heddle/inspect/binary.h"

namespace heddle {

struct LazyText::State {
  std::once_flag once;
  std::function<std::string()> make;
  std::string text;
};

LazyText::LazyText(std::string text)
    : LazyText([moved = std::move(text)]() mutable { return std::move(moved); }) {}

LazyText::LazyText(const char* text) : LazyText(std::string(text)) {}

LazyText::LazyText(std::function<std::string()> make) : state_(std::make_shared<State>()) {
  state_->make = std::move(make);
}

const std::string& LazyText::str() const {
  static const std::string empty;
  if (state_ == nullptr) return empty;
  std::call_once(state_->once, [state = state_.get()] {
    state->text = state->make();
    state->make = nullptr;
  });
  return state_->text;
}

}  // namespace heddle
