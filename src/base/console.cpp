// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/console.h"

#include "base/fd.h"
#include "base/printable.h"
#include "base/text_layout.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ostream>
#include <streambuf>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

int descriptor_of(StandardStream stream) {
  return stream == StandardStream::out ? STDOUT_FILENO : STDERR_FILENO;
}

constexpr std::string_view k_erase = "\r\033[K";

std::atomic<bool> line_is_drawn = false; // by redraw_line(), on standard error

void erase_drawn_line() {
  if (line_is_drawn.exchange(false))
    (void)write_all(STDERR_FILENO, k_erase);
}

// Terminals without a size exist: mpirun gives one to each of its processes.
int terminal_columns(StandardStream stream, int otherwise) {
  winsize size{};
  return ::ioctl(descriptor_of(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col
                                                                                   : otherwise;
}

// Keeps everything until the flush, so no character is split.
class ConsoleBuffer : public std::streambuf {
public:
  explicit ConsoleBuffer(StandardStream stream) : stream_(stream) {}

protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof()))
      text_ += traits_type::to_char_type(c);
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    text_.append(text, static_cast<std::size_t>(count));
    return count;
  }
  int sync() override {
    const bool written = print(stream_, text_);
    text_.clear();
    return written ? 0 : -1;
  }

private:
  StandardStream stream_;
  std::string text_;
};

class Console : public std::ostream {
public:
  explicit Console(StandardStream stream) : std::ostream(nullptr), buffer_(stream) {
    rdbuf(&buffer_);
    if (stream == StandardStream::err)
      setf(std::ios::unitbuf);
  }
  ~Console() override { flush(); }

private:
  ConsoleBuffer buffer_;
};

} // namespace

bool print(StandardStream stream, std::string_view text) {
  erase_drawn_line();
  const int problem = write_all(descriptor_of(stream), escape_unsafe(text));
  errno = problem;
  return problem == 0;
}

void print_in_signal_handler(std::string_view safe_text) {
  erase_drawn_line();
  (void)write_all(STDERR_FILENO, safe_text); // nobody would see an error message
}

std::ostream& console(StandardStream stream) {
  static Console out(StandardStream::out);
  static Console err(StandardStream::err);
  return stream == StandardStream::out ? out : err;
}

bool is_terminal(StandardStream stream) {
  return ::isatty(descriptor_of(stream)) == 1;
}

int text_columns() {
  return std::clamp(terminal_columns(StandardStream::out, k_report_columns), 80, 120);
}

void redraw_line(std::string_view text) {
  if (text.empty())
    return erase_drawn_line();
  const std::string safe = escape_unsafe(text);
  std::size_t end = 0; // a line that the terminal wraps cannot be redrawn
  for (int columns = terminal_columns(StandardStream::err, 80); end < safe.size() && columns > 1;
       --columns)
    end += character_at(safe, end).bytes;
  // A full or closed stream is not a reason to fail.
  (void)write_all(STDERR_FILENO, std::string(k_erase) + safe.substr(0, end));
  line_is_drawn = end > 0;
}

std::string hanging(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool goes_on = text[i] == '\n' && i + 1 < text.size();
    if (goes_on && text[i + 1] != ' ' && text[i + 1] != '\n')
      out += "  ";
  }
  return out;
}

} // namespace ncclprobe::base
