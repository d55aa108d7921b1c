// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/help.h"

namespace ncclprobe::cli {
namespace {

// zsh runs the same function as bash does.
constexpr const char* k_zsh_head = "#compdef ncclprobe\n"
                                   "autoload -Uz bashcompinit && bashcompinit\n";

// Completes the last value of a list, after the values before it.
constexpr const char* k_function = R"(_ncclprobe() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word words= before=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " $_ncclprobe_commands " in *" $word "*) command=$word; break ;; esac
  done
  case "${command:-run} $previous" in
%VALUES%  esac
  if [[ -n $words ]]; then
    [[ $cur == *,* ]] && before=${cur%,*},
    COMPREPLY=($(compgen -P "$before" -W "$words" -- "${cur##*,}"))
    return
  fi
  if [[ $cur == -* ]]; then
    case ${command:-run} in
%OPTIONS%    esac
  elif [[ -z $command ]]; then
    words=$_ncclprobe_commands
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _ncclprobe ncclprobe
)";

std::string filled(std::string text, std::string_view place, const std::string& with) {
  return text.replace(text.find(place), place.size(), with);
}

} // namespace

std::string completion_script(const std::vector<Usage>& usages, std::string_view shell) {
  std::string commands, values, options;
  for (const Usage& usage : usages) {
    commands += fmt::format("{}{}", commands.empty() ? "" : " ", usage.name);
    options += fmt::format("    {}) words=\"--help --version", usage.name);
    for (const Option& option : usage.options) {
      if (!option.positional)
        options += " " + option.label();
      if (option.choices.empty() || option.is_flag() || option.positional)
        continue;
      values += fmt::format("  \"{} {}\"", usage.name, option.label());
      if (!option.also.empty())
        values += fmt::format(" | \"{} {}\"", usage.name, option.also);
      values += fmt::format(") words=\"{}\" ;;\n", fmt::join(option.choices, " "));
    }
    options += "\" ;;\n";
  }
  return (shell == "zsh" ? k_zsh_head : "") +
         fmt::format("_ncclprobe_commands=\"{}\"\n", commands) +
         filled(filled(k_function, "%VALUES%", values), "%OPTIONS%", options);
}

} // namespace ncclprobe::cli
