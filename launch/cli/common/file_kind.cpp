// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/file_kind.h"

#include "base/fd.h"
#include "base/shell_word.h"

#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

constexpr std::size_t k_beginning = std::size_t{64} << 10;

// Of a regular file. To open a pipe for a look would take from it what its writer said, and close
// it to the writer.
std::string beginning_of(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return {};
  std::string text(k_beginning, '\0');
  const base::Fd fd(::open(file.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

} // namespace

InputKind kind_of_file(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file + ".parts", ignored))
    return InputKind::run;
  const std::string text = beginning_of(file);
  if (text.starts_with("\x89HDF\r\n\x1a\n"))
    return InputKind::run;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{')
    return InputKind::other;
  auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
  return says("\"ncclprobe.doctor\"") || says("\"surveys\"") ? InputKind::examination
         : says("\"ncclprobe_topology\"")                    ? InputKind::topology
                                                             : InputKind::other;
}

base::Error with_right_command(base::Error error, const std::string& file) {
  const std::string word = base::shell_word(file);
  switch (kind_of_file(file)) {
  case InputKind::run:
    error.hint = fmt::format("it is a run file, which `ncclprobe report {}` shows", word);
    break;
  case InputKind::topology:
    error.hint = fmt::format("it is a topology, which `ncclprobe topo --from {}` shows", word);
    break;
  case InputKind::examination:
    error.hint =
        fmt::format("it is an examination, which `ncclprobe doctor --offline {}` judges", word);
    break;
  case InputKind::other:
    break;
  }
  return error;
}

} // namespace ncclprobe::cli
