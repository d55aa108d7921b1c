// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/strings.h"

#include "base/error.h"

namespace ncclprobe::store {

std::uint32_t Strings::intern(std::string_view text) {
  if (auto found = numbers_.find(text); found != numbers_.end())
    return found->second;
  append(text);
  return static_cast<std::uint32_t>(texts_.size() - 1);
}

void Strings::append(std::string_view text) {
  if (texts_.size() >= UINT32_MAX)
    raise(Errc::failed, "more than 2^32 different texts");
  auto number = static_cast<std::uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), number);
}

const std::string& Strings::at(std::uint32_t number) const {
  if (number >= texts_.size())
    raise(Errc::failed, "a column points to text {} of {}", number, texts_.size());
  return texts_[number];
}

void Strings::clear() {
  numbers_.clear();
  texts_.clear();
}

} // namespace ncclprobe::store
