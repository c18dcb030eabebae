// SPDX-License-Identifier: Apache-2.0
#include "parse.hpp"

#include <algorithm>
#include <stdexcept>

#include "call.hpp"
#include "file.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

std::string in_quotes(std::string_view text) {
    return "'" + std::string(text) + "'";
}

bool begins(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

// Edits that turn one word into the other.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);

    for (size_t j = 0; j <= b.size(); j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
        }
    }
    return row[b.size()];
}

// The one name that the word means: itself, or the only one that it begins.
std::string_view pick(std::string_view word, const std::vector<std::string_view> &names,
                      const std::string &what, const std::string &remedy) {
    std::vector<std::string_view> begun;
    std::string list;

    for (std::string_view name : names) {
        if (name == word)
            return name;
        if (!word.empty() && begins(name, word)) {
            begun.push_back(name);
            list += (list.empty() ? "" : ", ") + std::string(name);
        }
    }
    if (begun.size() == 1)
        return begun[0];
    if (begun.size() > 1)
        throw usage(what + " " + in_quotes(word) + " is ambiguous: " + list, remedy);
    for (std::string_view name : names)
        if (distance(word, name) <= 1 + (word.size() > 4))
            throw usage("no " + what + " " + in_quotes(word),
                        "did you mean " + in_quotes(name) + "? " + remedy);
    throw usage("no " + what + " " + in_quotes(word), remedy);
}

bool is_global(std::string_view option) {
    return std::any_of(global_options().begin(), global_options().end(),
                       [&](const Param &param) { return begins(param.name, option); });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;

    for (;;) {
        size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

class Parser {
public:
    Parser(const std::vector<std::string> &words, Parsed *parsed)
        : words_(words), parsed_(*parsed) {}

    void run();

private:
    bool is_option(const std::string &word) const;
    void option(const std::string &word);
    void short_options(const std::string &word);
    void take_value(const Param &param, std::optional<std::string> value);
    const Param &find_letter(char letter) const;
    std::vector<const Param *> known_options() const;
    void default_verb();
    void check_value(const Param &param, const std::string &value) const;
    void set_option(const Param &param, const std::string &value);
    void set_global(std::string_view name, const std::string &value);
    const Param &find_option(std::string_view name) const;
    void positional(const std::string &word);
    void choose_object(const std::string &word);
    bool choose_verb(const std::string &word);
    void end_of_words();

    const std::vector<std::string> &words_;
    Parsed &parsed_;
    size_t next_ = 0;             // word after the one being read
    bool only_args_ = false;      // after "--"
    std::string_view half_verb_;  // first word of a verb of two words
    size_t args_ = 0;             // positional arguments so far
};

// "-1" is an argument of 'mem add', "-" is standard input.
bool Parser::is_option(const std::string &word) const {
    return !only_args_ && word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

void Parser::run() {
    while (next_ < words_.size()) {
        const std::string &word = words_[next_++];
        if (word == "--" && !only_args_)
            only_args_ = true;
        else if (is_option(word))
            option(word);
        else if (!parsed_.object)
            choose_object(word);
        else if (parsed_.verb || !choose_verb(word))
            positional(word);
    }
    end_of_words();
}

// The global ones, and those of the verb if it is known by now.
std::vector<const Param *> Parser::known_options() const {
    std::vector<const Param *> params;

    for (const Param &param : global_options())
        params.push_back(&param);
    if (parsed_.verb)
        for (const Param &param : parsed_.verb->params)
            if (param.is_option())
                params.push_back(&param);
    return params;
}

const Param &Parser::find_option(std::string_view name) const {
    std::vector<const Param *> params = known_options();
    std::vector<std::string_view> names;

    for (const Param *param : params)
        names.push_back(param->name);
    std::string_view chosen = pick(name, names, "option", help_hint(parsed_));
    return **std::find_if(params.begin(), params.end(),
                          [&](const Param *param) { return param->name == chosen; });
}

const Param &Parser::find_letter(char letter) const {
    for (const Param *param : known_options())
        if (param->letter == letter)
            return *param;
    throw usage(std::string("no option '-") + letter + "'");
}

// 'dsctl version --all': the default verb needs no name.
void Parser::default_verb() {
    if (parsed_.object && !parsed_.verb && half_verb_.empty())
        parsed_.verb = parsed_.object->default_verb();
}

// What stands behind = belongs to the option; else it is the next word.
void Parser::take_value(const Param &param, std::optional<std::string> value) {
    if (!value && next_ < words_.size())
        value = words_[next_++];
    if (!value)
        throw usage("option " + in_quotes(param.name) + " needs a value");
    set_option(param, *value);
}

void Parser::option(const std::string &word) {
    if (word[1] != '-')
        return short_options(word);
    size_t equals = word.find('=');
    std::string_view name = std::string_view(word).substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos)
        value = word.substr(equals + 1);
    if (!is_global(name))
        default_verb();

    const Param &param = find_option(name);
    if (!param.is_flag())
        return take_value(param, value);
    if (value)
        throw usage("option " + in_quotes(param.name) + " takes no value");
    set_option(param, "");
}

// "-jq", "-bn1", "-n 1"
void Parser::short_options(const std::string &word) {
    for (size_t at = 1; at < word.size(); at++) {
        bool global = std::ranges::any_of(
            global_options(), [&](const Param &param) { return param.letter == word[at]; });
        if (!global)
            default_verb();
        const Param &param = find_letter(word[at]);
        if (param.is_flag()) {
            set_option(param, "");
            continue;
        }
        std::string rest = word.substr(at + 1);
        return take_value(param, rest.empty() ? std::nullopt : std::optional(rest));
    }
}

void Parser::check_value(const Param &param, const std::string &value) const {
    if (param.kind == Kind::choice) {
        auto choices = split(param.choices, '|');
        if (std::find(choices.begin(), choices.end(), value) == choices.end())
            throw usage(
                (param.is_option() ? "option " + in_quotes(param.name) : std::string(param.name)) +
                " is one of " + std::string(param.choices) + ", not " + in_quotes(value));
    } else if (param.kind != Kind::text && param.kind != Kind::file && !param.is_flag()) {
        number_of(param, value);
    }
}

void Parser::set_option(const Param &param, const std::string &value) {
    bool global = std::any_of(global_options().begin(), global_options().end(),
                              [&](const Param &other) { return &other == &param; });

    check_value(param, value);
    if (global)
        set_global(param.name, value);
    else if (!parsed_.values.emplace(param.name, value).second)
        throw usage("option " + in_quotes(param.name) + " is given twice");
}

void Parser::set_global(std::string_view name, const std::string &value) {
    Settings &settings = parsed_.settings;

    if (name == "--json")
        settings.json = true;
    else if (name == "--pretty")
        settings.json = settings.pretty = true;
    else if (name == "--quiet")
        settings.quiet = true;
    else if (name == "--verbose")
        settings.verbose = true;
    else if (name == "--progress")
        settings.progress = true;
    else if (name == "--timeout")
        settings.timeout_ms = parse_duration(value);
    else if (name == "--fabric")
        settings.fabric = value;
    else if (name == "--color")
        settings.color = value;
    else if (name == "--help")
        parsed_.help = true;
    else if (name == "--version")
        parsed_.version = true;
}

void Parser::choose_object(const std::string &word) {
    std::vector<std::string_view> names;

    if (word == "help") {
        parsed_.help = true;
        return;
    }
    for (const Object *object : objects())
        if (!object->hidden || object->name == word)
            names.push_back(object->name);
    std::string_view name = pick(word, names, "object", help_hint(parsed_));
    parsed_.object = *std::find_if(objects().begin(), objects().end(),
                                   [&](const Object *object) { return object->name == name; });
}

// False if the word is an argument of an object's only verb.
bool Parser::choose_verb(const std::string &word) {
    const std::vector<Verb> &verbs = parsed_.object->verbs;
    std::vector<std::string_view> names;

    if (word == "help" && half_verb_.empty()) {
        parsed_.help = true;
        return true;
    }
    if (verbs.size() == 1 && !begins(verbs[0].name, word)) {
        parsed_.verb = &verbs[0];
        return false;
    }
    for (const Verb &verb : verbs) {
        auto parts = split(verb.name, ' ');
        if (half_verb_.empty())
            names.push_back(parts[0]);
        else if (parts[0] == half_verb_)
            names.push_back(parts[1]);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());

    // What other tools call it.
    std::string_view wanted = word == "list" || word == "ls" ? "show" : std::string_view(word);
    std::string name(pick(wanted, names, "verb", help_hint(parsed_)));
    if (!half_verb_.empty())
        name = std::string(half_verb_) + " " + name;
    for (const Verb &verb : verbs) {
        if (verb.name == name)
            parsed_.verb = &verb;
        else if (begins(verb.name, name + " "))
            half_verb_ = verb.name.substr(0, name.size());
    }
    return true;
}

void Parser::positional(const std::string &word) {
    size_t at = 0;

    for (const Param &param : parsed_.verb->params) {
        if (param.is_option() || at++ != args_)
            continue;
        check_value(param, word);
        auto [value, is_first] = parsed_.values.try_emplace(std::string(param.name), word);
        if (!param.is_list())
            args_++;
        else if (!is_first)
            value->second += list_separator + word;
        return;
    }
    throw usage("too many arguments: " + in_quotes(word));
}

void Parser::end_of_words() {
    if (parsed_.help || parsed_.version)
        return;
    if (!parsed_.object)
        throw usage("no object is named");
    if (!half_verb_.empty() && !parsed_.verb) {
        std::string show = std::string(half_verb_) + " show";
        for (const Verb &verb : parsed_.object->verbs)
            if (verb.name == show)
                parsed_.verb = &verb;
    } else if (!parsed_.verb) {
        parsed_.verb = parsed_.object->default_verb();
    }
    if (!parsed_.verb)
        throw usage("no verb is named");
    for (const Param &param : parsed_.verb->params)
        if (param.is_needed() && parsed_.values.find(param.name) == parsed_.values.end())
            throw usage(std::string(param.is_option() ? "option " : "argument ") +
                        std::string(param.name) + " is missing");
}

std::string bounds(const Param &param) {
    bool time = param.kind == Kind::duration || param.kind == Kind::seconds;
    auto text = [&](uint64_t value) { return time ? duration_text(value) : std::to_string(value); };

    if (param.max == UINT64_MAX && param.kind == Kind::number)
        return text(param.min) + " to 2^64 - 1";
    if (param.max == UINT64_MAX)
        return "at least " + text(param.min);
    if (param.min == 0)
        return "at most " + text(param.max);
    return text(param.min) + " to " + text(param.max);
}

}  // namespace

uint64_t number_of(const Param &param, std::string_view text) {
    std::optional<uint64_t> value;
    std::string what;

    switch (param.kind) {
    case Kind::word:
        value = parse_word(text);
        what = "a 64-bit number";
        break;
    case Kind::size:
        value = parse_size(text);
        what = "a number of bytes, as 4096, 64K or 16M";
        break;
    case Kind::duration:
        value = parse_duration(text);
        what = "a time, as 500 (milliseconds), 10s or 2m";
        break;
    case Kind::seconds:
        value = parse_duration(text, 1000);
        what = "a time, as 5 (seconds), 500ms or 2m";
        break;
    default:
        value = parse_number(text);
        what = "a whole number, " + bounds(param);
        break;
    }
    if (!value)
        throw usage(std::string(param.name) + " is " + what + ", not " + in_quotes(text));
    if (*value < param.min || *value > param.max)
        throw usage(std::string(param.name) + " is " + bounds(param) + ", not " +
                    std::string(text));
    return *value;
}

std::string help_hint(const Parsed &parsed) {
    std::string command = "dsctl";

    if (parsed.object)
        command += " " + std::string(parsed.object->name);
    if (parsed.verb)
        command += " " + std::string(parsed.verb->name);
    return "see '" + command + " --help'";
}

void parse(const std::vector<std::string> &words, Parsed *parsed) {
    // An error in front of -j is still reported as JSON.
    for (const std::string &word : words) {
        if (word == "--")
            break;
        if (word == "-j" || word == "--json")
            parsed->settings.json = true;
        if (word == "-p" || word == "--pretty")
            parsed->settings.json = parsed->settings.pretty = true;
    }
    Parser(words, parsed).run();
}

const Param &Call::param(std::string_view name) const {
    auto found = std::find_if(verb.params.begin(), verb.params.end(),
                              [&](const Param &param) { return param.name == name; });
    if (found == verb.params.end())
        throw std::logic_error("verb has no parameter " + std::string(name));
    return *found;
}

std::string Call::text(std::string_view name) const {
    auto value = values_.find(name);

    return value == values_.end() ? std::string(param(name).fallback) : value->second;
}

std::vector<std::string> Call::list(std::string_view name) const {
    std::string value = text(name);
    std::vector<std::string> words;

    for (std::string_view word : split(value, list_separator))
        words.emplace_back(word);
    return words;
}

std::optional<uint64_t> Call::maybe(std::string_view name) const {
    std::string value = text(name);

    if (value.empty())
        return std::nullopt;
    return number_of(param(name), value);
}

uint64_t Call::number(std::string_view name) const {
    return maybe(name).value_or(0);
}

void Call::check_output(std::string_view file, std::string_view what) const {
    if (out.json() && is_stdout(text(file)))
        throw usage("standard output cannot take both " + std::string(what) +
                    " and the JSON document");
}

uint32_t Call::timeout_ms(uint32_t fallback) const {
    return static_cast<uint32_t>(settings.timeout_ms.value_or(fallback));
}

}  // namespace dsctl
