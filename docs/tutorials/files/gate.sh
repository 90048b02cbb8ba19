#!/bin/sh
# Judge files by one policy: gate.sh POLICY FILE... The exit code is that of the worst file.
policy=$1
shift
worst=0
for file in "$@"; do
    code=0
    sfumato audit "$file" --policy "$policy" >"$file.audit.txt" 2>&1 || code=$?
    echo "exit code $code: $file"
    if [ "$code" -gt "$worst" ]; then worst=$code; fi
done
exit "$worst"
