// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace ncclprobe::launch {

// Sets a variable during MPI_Init, unless the user has set it.
class InitSetting {
public:
  InitSetting(const char* name, const char* value) : name_(name), ours_(!is_set(name)) {
    if (ours_)
      ::setenv(name, value, 0);
  }
  InitSetting(const InitSetting&) = delete;
  ~InitSetting() {
    if (ours_)
      ::unsetenv(name_);
  }

private:
  static bool is_set(std::string_view name) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      std::string_view text = *entry;
      if (text.substr(0, text.find('=')) == name)
        return true;
    }
    return false;
  }

  const char* name_;
  bool ours_;
};

} // namespace ncclprobe::launch
