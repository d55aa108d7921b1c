// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/secrets.h"

#include "base/split.h"
#include "base/stored_variables.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace ncclprobe::base {
namespace {

constexpr std::size_t k_shortest_secret = 8;
constexpr std::array<std::string_view, 10> k_words_of_secrets{
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "PROXY", "DSN"};

} // namespace

bool names_secret(std::string_view name) {
  if (is_harmless_variable(name))
    return false;
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return std::ranges::any_of(k_words_of_secrets, [&](std::string_view word) {
    return upper.find(word) != std::string::npos;
  });
}

std::vector<std::string> secrets_of(const std::vector<std::string>& environment) {
  std::vector<std::string> secrets;
  for (std::string_view variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !names_secret(variable.substr(0, equals)))
      continue;
    for (std::string_view line : split(variable.substr(equals + 1), '\n'))
      if (line.size() >= k_shortest_secret)
        secrets.emplace_back(line);
  }
  // A value may be a part of another one.
  std::ranges::sort(secrets, std::ranges::greater{}, &std::string::size);
  return secrets;
}

std::string without_secrets(std::string text, std::span<const std::string> secrets) {
  for (const std::string& secret : secrets)
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + k_value_not_stored.size()))
      text.replace(at, secret.size(), k_value_not_stored);
  return text;
}

} // namespace ncclprobe::base
