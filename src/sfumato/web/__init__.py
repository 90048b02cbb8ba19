"""The workbench: a local page where an owner finds the release she can live with.

`sfumato serve` opens it. Thin: a page asks a worker process for what the library's own calls find,
and shows it by the report's sections; what a step does equals a command of the shell, which stands
beside it. The server itself reads no data: it guards the door, keeps the project folder, and stays
alive whatever becomes of the work.

    guard       who may ask: this machine, this browser, these pages
    server      the application and its life
    bench       what all pages share; folder, project: the files; worker, desk: the work
    shown       sections as HTML; shell: the same from a shell
    the steps   data, policy, release, adversaries, decide
"""
