// SPDX-License-Identifier: Apache-2.0
// dsctl completion: what the shell offers behind TAB, made from the tables.
#include <set>

#include <ds/token.h>

#include "fabric_choice.hpp"
#include "kernel.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// How the value of a parameter is completed: @NAMES of what there is, %file, %fabric, the
// choices, or - for what nobody can guess.
std::string how(const Param &param) {
    if (!param.names.empty())
        return (param.names[0] == '%' ? "" : "@") + std::string(param.names);
    if (param.kind == Kind::file)
        return "%file";
    return param.choices.empty() ? "-" : std::string(param.choices);
}

// "ADDR=- --space=@spaces --random"
std::string params_text(const std::vector<Param> &params) {
    std::string text;

    for (const Param &param : params) {
        std::string value = param.is_flag() ? "" : "=" + how(param);
        text += (text.empty() ? "" : " ") + std::string(param.name) + value;
        if (param.letter)
            text += std::string(" -") + param.letter + value;
    }
    return text;
}

// The words that may stand behind an object, or behind the first word of a verb.
std::string next_words(const Object &object, const std::string &half) {
    std::set<std::string> words;
    std::string text;

    for (const Verb &verb : object.verbs) {
        std::string rest(verb.name);
        if (!half.empty() && rest.substr(0, half.size() + 1) != half + " ")
            continue;
        if (!half.empty())
            rest = rest.substr(half.size() + 1);
        words.insert(rest.substr(0, rest.find(' ')));
    }
    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string entry(const std::string &key, const std::string &value) {
    return "\t[\"" + key + "\"]=\"" + value + "\"\n";
}

std::string tables_text() {
    std::string names, verbs, params, defaults;

    for (const Object *object : objects()) {
        std::string name(object->name);
        if (object->hidden)
            continue;
        names += (names.empty() ? "" : " ") + name;
        verbs += entry(name, next_words(*object, ""));
        std::set<std::string> halves;
        for (const Verb &verb : object->verbs) {
            std::string whole(verb.name);
            size_t blank = whole.find(' ');
            params += entry(name + " " + whole, params_text(verb.params));
            if (blank != std::string::npos)
                halves.insert(whole.substr(0, blank));
        }
        for (const std::string &half : halves)
            verbs += entry(name + " " + half, next_words(*object, half));
        if (const Verb *verb = object->default_verb())
            defaults += entry(name, std::string(verb->name));
    }
    return "_dsctl_objects=\"" + names + "\"\n_dsctl_globals=\"" + params_text(global_options()) +
           "\"\ndeclare -gA _dsctl_verbs=(\n" + verbs + ")\ndeclare -gA _dsctl_default=(\n" +
           defaults + ")\n# Arguments and options; behind = is how a value is completed.\n" +
           "declare -gA _dsctl_params=(\n" + params + ")\n";
}

constexpr const char *head = R"bash(# bash completion for dsctl; made by 'dsctl completion bash'
# shellcheck shell=bash

)bash";

// Reads the words as dsctl's parser does, abbreviations included.
constexpr const char *functions = R"bash(
# _dsctl_pick WORD NAME...: the one name that the word means is put into REPLY.
_dsctl_pick() {
	local word=$1 name found=()
	shift
	for name; do
		REPLY=$name
		[[ $name == "$word" ]] && return
		[[ $name == "$word"* ]] && found+=("$name")
	done
	REPLY=${found[0]-}
	[[ ${#found[@]} == 1 ]]
}

# The parameters of the verb, or of the one that runs when none is named.
_dsctl_known() {
	local name=$verb
	[[ $verb || ! $half ]] || name="$half show"
	[[ $name || ! $object ]] || name=${_dsctl_default[$object]-}
	read -ra known <<< "${_dsctl_params["$object $name"]-} $_dsctl_globals"
}

_dsctl_read_option() {
	local known param names=()
	_dsctl_known
	for param in "${known[@]}"; do
		[[ $param != -* ]] || names+=("${param%%=*}")
	done
	_dsctl_pick "$1" "${names[@]}" || return 0
	used+=" $REPLY "
	for param in "${known[@]}"; do
		[[ $param != "$REPLY="* ]] || pending=${param#*=}
	done
}

_dsctl_read_verb() {
	local verbs
	read -ra verbs <<< "${_dsctl_verbs["$object${half:+ $half}"]-}"
	if _dsctl_pick "$1" "${verbs[@]}"; then
		if [[ ! $half && ${_dsctl_verbs["$object $REPLY"]-} ]]; then
			half=$REPLY
		else
			verb=${half:+$half }$REPLY
		fi
	elif [[ ! $half && ${#verbs[@]} == 1 ]]; then
		verb=${verbs[0]} args=1
	else
		verb='?'
	fi
}

# A word in front of the one that is completed. bash takes '--op=cas' and '2:1'
# for three words each.
_dsctl_read() {
	local objects
	read -ra objects <<< "$_dsctl_objects"
	[[ $1 == [=:]* || $glued ]] || value=''
	if [[ $1 == = ]]; then
		return
	elif [[ $1 == :* ]]; then
		glued=1
	elif [[ $glued ]]; then
		glued=
	elif [[ $pending ]]; then
		value=$pending pending=
	elif [[ $1 == -- && ! $only_args ]]; then
		only_args=1
	elif [[ $1 == -[!0-9]* && ! $only_args ]]; then
		_dsctl_read_option "$1"
	elif [[ ! $object ]]; then
		_dsctl_pick "$1" "${objects[@]}" || REPLY='?'
		object=$REPLY
	elif [[ ! $verb ]]; then
		_dsctl_read_verb "$1"
	else
		args=$((args + 1))
	fi
}

_dsctl_offer() {
	local found
	mapfile -t found < <(compgen -W "$1" -- "$cur")
	COMPREPLY+=("${found[@]}")
}

_dsctl_values() {
	case $1 in
	@*)
		_dsctl_offer "$(timeout 2 "${COMP_WORDS[0]/#\~/$HOME}" completion names "${1#@}" 2> /dev/null)"
		[[ $1 != @targets ]] || compopt -o nospace 2> /dev/null
		;;
	%fabric)
		_dsctl_offer 'module local:'
		[[ ${COMPREPLY[*]} != local: ]] || compopt -o nospace 2> /dev/null
		;;
	%file)
		compopt -o filenames 2> /dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "${cur#:}")
		;;
	-) ;;
	*) _dsctl_offer "${1//|/ }" ;;
	esac
}

_dsctl_options() {
	local known param list=''
	_dsctl_known
	for param in "${known[@]}"; do
		[[ $param != --* || $used == *" ${param%%=*} "* ]] || list+=" ${param%%=*}"
	done
	_dsctl_offer "$list"
}

_dsctl_argument() {
	local known param at=0
	_dsctl_known
	for param in "${known[@]}"; do
		[[ $param != -* ]] || continue
		[[ $at != "$args" && ! ($args -gt $at && $param == *...=*) ]] || _dsctl_values "${param#*=}"
		at=$((at + 1))
	done
}

_dsctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} word REPLY
	local object='' verb='' half='' pending='' value='' glued='' only_args='' used='' args=0
	COMPREPLY=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
		_dsctl_read "$word"
	done
	[[ $cur != = ]] || cur=''
	if [[ $cur == :* || $glued ]]; then
		[[ $value != %fabric ]] || _dsctl_values %file # behind local:
	elif [[ $pending ]]; then
		_dsctl_values "$pending"
	elif [[ $cur == -* && ! $only_args ]]; then
		_dsctl_options
	elif [[ ! $object ]]; then
		_dsctl_offer "$_dsctl_objects"
	elif [[ ! $verb ]]; then
		_dsctl_offer "${_dsctl_verbs["$object${half:+ $half}"]-}"
		[[ $half || ${_dsctl_verbs[$object]-} == *' '* ]] || _dsctl_argument
	else
		_dsctl_argument
	fi
}
complete -F _dsctl dsctl
)bash";

Exit bash(Call &call) {
    std::string script = head + tables_text() + functions;

    script.pop_back();  // line() ends it
    call.out.respond({{"script", script}});
    call.out.line(script);
    return Exit::ok;
}

// What NAMES of a Param stands for: a dump, and the attribute that is typed.
constexpr std::string_view name_kinds =
    "devices|domains|nodes|packet-spaces|peers|segments|spaces|targets|tokens";

template <class T>
void add_numbers(std::set<std::string> &names, Kernel &kernel, uint8_t command,
                 const nl::Attr<T> &number, const std::string &suffix = "") {
    for (const nl::Message &message : kernel.dump(command, "list the names"))
        if (auto value = message.get(number); value && *value)
            names.insert(std::to_string(*value) + suffix);
}

// Those that can be pinned.
void add_tokens(std::set<std::string> &names, Kernel &kernel) {
    for (const nl::Message &token : kernel.dump(DS_CMD_TOKEN_GET, "list the names"))
        if (!(token.get_or(attr::flags, 0) & DS_TOKEN_FOREIGN))
            names.insert(hex(token.get_or(attr::token, 0)));
}

std::set<std::string> names_of(const Call &call, const std::string &kind) {
    std::set<std::string> names;

    if (auto path = local_file(call.settings); path && kind == "spaces")
        return {std::to_string(describe_local(*path).space)};
    Kernel kernel(call);
    if (kind == "devices")
        for (const nl::Message &device : kernel.dump(DS_CMD_DEV_GET, "list the names"))
            names.insert(device.get_or(attr::device, ""));
    else if (kind == "domains")
        add_numbers(names, kernel, DS_CMD_DOMAIN_GET, attr::domain);
    else if (kind == "segments")
        add_numbers(names, kernel, DS_CMD_SEG_GET, attr::segment);
    else if (kind == "packet-spaces")
        for (const nl::Message &space : kernel.dump(DS_CMD_RDM_SPACE_GET, "list the names"))
            names.insert(std::to_string(space.get_or(attr::rdm_space, 0)));
    else if (kind == "spaces")
        add_numbers(names, kernel, DS_CMD_SPACE_GET, attr::space);
    else if (kind == "tokens")
        add_tokens(names, kernel);
    else
        add_numbers(names, kernel, DS_CMD_PEER_GET, attr::node, kind == "targets" ? ":" : "");
    if (kind == "peers")
        for (const nl::Message &peer : kernel.dump(DS_CMD_PEER_GET, "list the peers"))
            if (!peer.get_or(attr::passive, 0))
                names.insert(address_of(peer));
    return names;
}

Exit names(Call &call) {
    for (const std::string &name : names_of(call, call.text("KIND"))) {
        call.out.respond(name);
        call.out.line(name);
    }
    return Exit::ok;
}

const Object object{
    .name = "completion",
    .summary = "what the shell offers behind TAB",
    .verbs =
        {
            {
                .name = "bash",
                .summary = "Print the completion of dsctl for bash.",
                .params = {},
                .examples = {{"completion bash", "'. <(dsctl completion bash)' turns it on"}},
                .run = bash,
                .details = "Completes objects, verbs, options, choices and files, and the "
                           "numbers of what the fabric has at that moment.",
            },
            {
                .name = "names",
                .summary = "Print the names of what there is, one a line, for a completion.",
                .params = {{.name = "KIND",
                            .kind = Kind::choice,
                            .help = "what to list",
                            .choices = name_kinds}},
                .examples = {{"completion names spaces", "numbers of the spaces"}},
                .run = names,
                .details = "'peers' are nodes and addresses, 'targets' nodes with the colon that "
                           "'seg attach' wants.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl
