// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ncclprobe::plugin {

// One of NCCL's names, shortened if necessary.
template <std::size_t Size>
struct Word {
  std::array<char, Size> letters{};
  void set(const char* text) {
    std::size_t i = 0;
    for (; text != nullptr && text[i] != '\0' && i + 1 < Size; ++i)
      letters[i] = text[i];
    letters[i] = '\0';
  }
  // Whether set(text) would change nothing.
  bool is(const char* text) const {
    std::size_t i = 0;
    for (; text[i] != '\0' && i + 1 < Size; ++i)
      if (letters[i] != text[i])
        return false;
    return letters[i] == '\0';
  }
  std::string_view text() const { return letters.data(); }
};

// Numbers for the few names that NCCL uses repeatedly, by their address and their text, because the
// address may be reused. For any thread, without waiting; all zeroes is empty.
class WordTable {
public:
  static constexpr std::size_t k_words = 256;

  // 0: no text, or no space left.
  std::uint8_t number_of(const char* text) {
    if (text == nullptr || *text == '\0')
      return 0;
    auto hash = reinterpret_cast<std::uintptr_t>(text);
    hash ^= hash >> 9;
    for (std::size_t tried = 0; tried < k_words; ++tried) {
      std::size_t number = (hash + tried) % k_words;
      if (number == 0)
        continue;
      Entry& entry = entries_[number];
      const char* key = entry.key.load(std::memory_order_acquire);
      if (key == nullptr && entry.key.compare_exchange_strong(key, text)) {
        entry.word.set(text);
        entry.ready.store(true, std::memory_order_release);
        return static_cast<std::uint8_t>(number);
      }
      if (key == text && entry.ready.load(std::memory_order_acquire) && entry.word.is(text))
        return static_cast<std::uint8_t>(number);
    }
    return 0;
  }
  std::string_view text(std::uint8_t number) const { return entries_[number].word.text(); }

private:
  struct Entry {
    std::atomic<const char*> key{nullptr};
    std::atomic<bool> ready{false};
    Word<40> word;
  };
  std::array<Entry, k_words> entries_{};
};

} // namespace ncclprobe::plugin
