// isomer completion: scripts for shells, made of the commands and flags that there are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace isomer::cli {
namespace {

/// A command, with those that it is under, as shells complete it.
struct Completed {
  std::string path;                    ///< "", "optimize", "library show"
  std::vector<std::string> words;      ///< that may follow: commands, and values that have no flag; else files do
  std::vector<std::string> with_dash;  ///< the same: all that begins with one
  struct Flag {
    std::string long_name, short_name, what;
    std::vector<std::string> values;
  };
  std::vector<Flag> flags;
  struct Command {
    std::string name, what;
  };
  std::vector<Command> commands;
};

/// Those of an option that takes one of some words.
std::vector<std::string> values_of(const CLI::Option& option) {
  // CLI11 writes them behind the type: "TEXT:{beam,best-first}".
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> result;
  if (begin == std::string::npos || end == std::string::npos) return result;
  for (size_t at = begin + 1; at < end;) {
    const size_t comma = std::min(type.find(',', at), end);
    result.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return result;
}

void collect(CLI::App& app, const std::string& path, std::vector<Completed>& all) {
  Completed made{path, {}, {}, {}, {}};
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    made.words.push_back(command->get_name());
    made.commands.push_back({command->get_name(), command->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      made.with_dash.push_back("--" + name);
      const std::string brief = option->get_snames().empty() ? "" : option->get_snames()[0];
      made.flags.push_back({name, brief, option->get_description(), values_of(*option)});
    }
    for (const std::string& name : option->get_snames()) made.with_dash.push_back("-" + name);
    if (option->get_lnames().empty() && option->get_snames().empty())
      for (std::string& value : values_of(*option)) made.words.push_back(std::move(value));
  }
  all.push_back(std::move(made));
  for (CLI::App* command : app.get_subcommands(nullptr))
    collect(*command, path + (path.empty() ? "" : " ") + command->get_name(), all);
}

/// One word of a shell.
std::string shell_word(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// As far as a line has room.
std::string brief(const std::string& description) {
  constexpr size_t kLongest = 70;
  return description.size() <= kLongest ? description
                                        : description.substr(0, description.rfind(' ', kLongest)) + " ...";
}

/// For bash, and for zsh by its own way to take bash's.
std::string bash_script(const std::vector<Completed>& all) {
  std::string text =
      "_isomer() {\n  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word\n"
      // --fp=st is three words.
      "  if [ \"$current\" = '=' ]; then current=\n"
      "  elif [ \"$previous\" = '=' ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$command $word\" in\n";
  for (const Completed& each : all)
    if (!each.path.empty()) {
      const size_t last = each.path.rfind(' ');
      const std::string above = last == std::string::npos ? "" : each.path.substr(0, last);
      text += fmt::format("      {}) command={} ;;\n", shell_word(above + " " + each.path.substr(last + 1)),
                          shell_word(each.path));
    }
  text += "    esac\n  done\n  case \"$command $previous\" in\n";
  for (const Completed& each : all)
    for (const Completed::Flag& flag : each.flags)
      if (!flag.values.empty())
        text += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                            shell_word(each.path + " --" + flag.long_name),
                            shell_word(fmt::format("{}", fmt::join(flag.values, " "))));
  text += "  esac\n  case \"$command\" in\n";
  for (const Completed& each : all)
    text += fmt::format("    {}) word={}; case \"$current\" in -*) word={} ;; esac ;;\n", shell_word(each.path),
                        shell_word(fmt::format("{}", fmt::join(each.words, " "))),
                        shell_word(fmt::format("{}", fmt::join(each.with_dash, " "))));
  // What has no words gets files, by default.
  return text +
         "  esac\n  COMPREPLY=($(compgen -W \"$word\" -- \"$current\"))\n}\ncomplete -o default -F _isomer isomer\n";
}

std::string fish_script(const std::vector<Completed>& all) {
  std::string text;
  for (const Completed& each : all) {
    std::string where = each.path.empty() ? "__fish_use_subcommand"
                                          : "__fish_seen_subcommand_from " + each.path.substr(0, each.path.find(' '));
    if (const size_t space = each.path.find(' '); space != std::string::npos)
      where += "; and __fish_seen_subcommand_from " + each.path.substr(space + 1);
    const std::string line = fmt::format("complete -c isomer -n {}", shell_word(where));
    if (each.commands.empty() && !each.words.empty())
      text += fmt::format("{} -f -a {}\n", line, shell_word(fmt::format("{}", fmt::join(each.words, " "))));
    for (const Completed::Command& command : each.commands)
      text += fmt::format("{} -f -a {} -d {}\n", line, shell_word(command.name), shell_word(brief(command.what)));
    for (const Completed::Flag& flag : each.flags) {
      text += fmt::format("{} -l {}", line, flag.long_name);
      if (!flag.short_name.empty()) text += " -s " + flag.short_name;
      if (!flag.values.empty()) text += " -x -a " + shell_word(fmt::format("{}", fmt::join(flag.values, " ")));
      text += fmt::format(" -d {}\n", shell_word(brief(flag.what)));
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print what completes commands and flags in a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app] {
    std::vector<Completed> all;
    collect(app, "", all);
    if (*shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
    fmt::print("{}", *shell == "fish" ? fish_script(all) : bash_script(all));
  });
}

}  // namespace isomer::cli
