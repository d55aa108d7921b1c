// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/provenance.h"

#include "plugin/loaded_nccl.h"

#include "base/stored_variables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace ncclprobe::plugin {
namespace {

constexpr std::size_t k_most_command_bytes = 1'000;

// A function of a library that the process has already loaded; this loads nothing.
template <typename Function>
Function* find(void* library, const char* symbol) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, symbol));
}

void* driver() {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> words_of_command_line() {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(std::move(word));
  return words;
}

bool is_module_name(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  });
}

// The arguments that say what an interpreter runs: a script's file, or "-m" and a module's name.
std::vector<std::string> script_of(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size() && words[0].find("python") != std::string::npos &&
        is_module_name(words[i + 1]))
      return {words[i], words[i + 1]};
    if (words[i].starts_with('-') && words[i] != "-c")
      continue;
    struct stat status {};
    if (::stat(words[i].c_str(), &status) == 0 && S_ISREG(status.st_mode))
      return {words[i]};
    return {};
  }
  return {};
}

std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::array<char, 4> hex{};
    std::snprintf(hex.data(), hex.size(), "%s%02x",
                  i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    text += hex.data();
  }
  return text;
}

} // namespace

std::string program_of(const std::vector<std::string>& command_line) {
  if (command_line.empty())
    return "";
  const std::vector<std::string> script = script_of(command_line);
  std::string text = command_line[0];
  for (const std::string& word : script)
    text += " " + word;
  if (const std::size_t left = command_line.size() - 1 - script.size(); left > 0)
    text += " (and " + std::to_string(left) + (left == 1 ? " argument)" : " arguments)");
  return text.substr(0, k_most_command_bytes);
}

int current_device() {
  auto* ask = find<int(int*)>(driver(), "cuCtxGetDevice");
  int device = -1;
  return ask != nullptr && ask(&device) == 0 ? device : -1;
}

Variables nccl_variables() {
  Variables found;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one)
    if (const char* equals = std::strchr(*one, '=');
        equals != nullptr && std::strncmp(*one, "NCCL_", 5) == 0) {
      std::string name(*one, static_cast<std::size_t>(equals - *one));
      std::string value = base::stored_value(name, equals + 1);
      found.emplace_back(std::move(name), std::move(value));
    }
  return found;
}

void write_provenance(trace::SpoolWriter& spool, int rank, int device, const Variables& variables) {
  auto note = [&](std::string_view name, std::string_view value) {
    if (!value.empty())
      spool.note(rank, name, value);
  };
  note("command", program_of(words_of_command_line()));
  note("nccl", nccl_version());
  note("driver", first_line("/proc/driver/nvidia/version"));
  int version = 0;
  if (auto* ask = find<int(int*)>(driver(), "cuDriverGetVersion");
      ask != nullptr && ask(&version) == 0)
    note("cuda_of_driver",
         std::to_string(version / 1'000) + "." + std::to_string(version / 10 % 100));
  std::array<char, 128> name{};
  if (auto* ask = find<int(char*, int, int)>(driver(), "cuDeviceGetName");
      ask != nullptr && device >= 0 &&
      ask(name.data(), static_cast<int>(name.size()) - 1, device) == 0)
    note("gpu", name.data());
  std::array<unsigned char, 16> uuid{};
  if (auto* ask = find<int(unsigned char*, int)>(driver(), "cuDeviceGetUuid_v2");
      ask != nullptr && device >= 0 && ask(uuid.data(), device) == 0)
    note("gpu_uuid", uuid_text(uuid));
  for (const auto& [variable, value] : variables)
    note(variable, value);
}

} // namespace ncclprobe::plugin
