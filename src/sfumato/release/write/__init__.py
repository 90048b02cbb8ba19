"""What is handed out: cells, files, and the public and private folders."""
