#!/bin/sh
# Judge files by one policy: gate.sh POLICY FILE... The exit code is that of the worst file.
policy=$1
shift
if [ $# -eq 0 ]; then
    echo "gate.sh: no file to judge; a gate that judged nothing is not open" >&2
    exit 2
fi
worst=0
for file in "$@"; do
    code=0
    sfumato audit "$file" --policy "$policy" >"$file.audit.txt" 2>&1 || code=$?
    echo "exit code $code: $file"
    if [ "$code" -gt "$worst" ]; then worst=$code; fi
done
exit "$worst"
