"""The same loop over a recorded run: nobody is asked, nothing is sent, nothing is written."""
