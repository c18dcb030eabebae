// SPDX-License-Identifier: Apache-2.0
#include "help.hpp"

#include <cctype>

namespace dsctl {

namespace {

constexpr size_t width = 99;

// The words of the text in lines; lines after the first begin with the indent.
std::string wrap(const std::string &text, size_t column, size_t indent) {
    std::string result, word;

    auto put = [&] {
        if (word.empty())
            return;
        if (column + 1 + word.size() > width) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!result.empty()) {
            result += ' ';
            column++;
        }
        result += word;
        column += word.size();
        word.clear();
    };
    // What stands in brackets stays together: "[--domain N]".
    int depth = 0;
    for (char c : text) {
        depth += (c == '[') - (c == ']');
        if (c == ' ' && depth == 0)
            put();
        else
            word += c;
    }
    put();
    return result;
}

// "  name      text", with the text in a column of its own.
std::string entry(const std::string &name, const std::string &text, size_t column) {
    std::string line = "  " + name;

    if (line.size() + 2 > column)
        line += "\n" + std::string(column, ' ');
    else
        line += std::string(column - line.size(), ' ');
    return line + wrap(text, column, column) + "\n";
}

std::string spelled(const Param &param) {
    std::string text(param.name);

    if (param.is_option() && !param.is_flag())
        text += " " + std::string(param.value);
    return text;
}

std::string explained(const Param &param) {
    std::string text(param.help);

    if (!param.choices.empty() && !param.is_option())
        text += " (" + std::string(param.choices) + ")";
    if (!param.fallback.empty())
        text += " (default " + std::string(param.fallback) + ")";
    if (param.letter)
        text += std::string(" (short: -") + param.letter + ")";
    return text;
}

std::string options_text(const std::vector<Param> &params, bool options, size_t column) {
    std::string text;

    for (const Param &param : params)
        if (param.is_option() == options)
            text += entry(spelled(param), explained(param), column);
    return text;
}

std::string exits_text() {
    std::string text = "Exit status:\n";

    for (const ExitText &line : exit_table())
        text += entry(std::to_string(static_cast<int>(line.exit)), std::string(line.text), 8);
    return text;
}

std::string sentence(std::string_view text) {
    std::string result(text);

    result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
    return result + ".";
}

constexpr size_t param_column = 22;
constexpr size_t verb_column = 18;

}  // namespace

std::string synopsis(const Object &object, const Verb &verb) {
    std::string text = "dsctl " + std::string(object.name) + " " + std::string(verb.name);

    for (const Param &param : verb.params) {
        std::string word = spelled(param);
        text += param.is_needed() ? " " + word : " [" + word + "]";
    }
    return text;
}

std::string help() {
    std::string text =
        "Usage: dsctl [OPTIONS] OBJECT VERB [ARGUMENTS]\n\n"
        "Configures and uses DS, the disaggregated memory of this host.\n\n"
        "Objects:\n";

    for (const Object *object : objects())
        if (!object->hidden)
            text += entry(std::string(object->name), std::string(object->summary), verb_column);
    text += "\nOptions of every command:\n" + options_text(global_options(), true, param_column);
    text +=
        "\nExamples:\n"
        "  dsctl doctor                      find out what is missing on this host\n"
        "  dsctl peer show                   hosts that this host is connected to\n"
        "  dsctl seg add 64M --domain 1      export 64 MiB of this host's memory\n"
        "  dsctl addr explain 0x12300000     what an address means\n\n";
    text += exits_text();
    text +=
        "\nNames of objects, verbs and options may be shortened while they stay unambiguous; "
        "scripts\nshould write them in full. 'dsctl OBJECT --help' and 'dsctl OBJECT VERB --help' "
        "say more.\n";
    return text;
}

std::string help(const Object &object) {
    std::string text = "Usage: dsctl [OPTIONS] " + std::string(object.name) +
                       " VERB [ARGUMENTS]\n\n" + sentence(object.summary) + "\n\nVerbs:\n";

    for (const Verb &verb : object.verbs)
        text += entry(std::string(verb.name), std::string(verb.summary), verb_column);
    if (const Verb *verb = object.default_verb())
        text += "\nWithout a verb: '" + std::string(verb->name) + "'.\n";
    text += "\nExamples:\n";
    for (const Verb &verb : object.verbs)
        if (!verb.examples.empty())
            text += "  dsctl " + std::string(verb.examples[0].command) + "\n";
    text += "\n'dsctl " + std::string(object.name) +
            " VERB --help' has the arguments; 'dsctl --help' the options of every command.\n";
    return text;
}

std::string help(const Object &object, const Verb &verb) {
    std::string indent = "Usage: ";
    std::string text = indent + wrap(synopsis(object, verb), indent.size(), indent.size() + 4) +
                       "\n\n" + wrap(std::string(verb.summary), 0, 0) + "\n";

    if (!verb.details.empty())
        text += "\n" + wrap(std::string(verb.details), 0, 0) + "\n";
    std::string arguments = options_text(verb.params, false, param_column);
    if (!arguments.empty())
        text += "\nArguments:\n" + arguments;
    std::string options = options_text(verb.params, true, param_column);
    if (!options.empty())
        text += "\nOptions:\n" + options;
    text += "\nExamples:\n";
    for (const Example &example : verb.examples)
        text += "  # " + wrap(std::string(example.text), 4, 4) + "\n  dsctl " +
                std::string(example.command) + "\n";
    text += "\n'dsctl --help' has the options of every command and the exit status.\n";
    return text;
}

}  // namespace dsctl
