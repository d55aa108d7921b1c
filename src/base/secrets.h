// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// Programs under test may print their environment, and what they print is kept. So the values that
// look like secrets are removed from it.
namespace ncclprobe::base {

// True if the name says that the value is a secret: "HF_TOKEN", "AWS_SECRET_ACCESS_KEY",
// "https_proxy" (which may hold a password).
bool names_secret(std::string_view name);

// Values of such variables in an environment ("NAME=value"), the longest first; each line of a
// value counts. Values under 8 bytes are left out: they occur in other words.
std::vector<std::string> secrets_of(const std::vector<std::string>& environment);

// Replaces them by "(set)".
std::string without_secrets(std::string text, std::span<const std::string> secrets);

} // namespace ncclprobe::base
