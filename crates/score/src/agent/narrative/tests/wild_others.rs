//! Closing messages as agents write them, rules mixed, that claim nothing.

/// Messages that claim nothing.
const OTHERS: &str = r"
The ticket is closed.
I see that you've already created the issue.
I would recommend deleting the branch.
I can send the email whenever you're ready.
Once merged, the branch can be deleted.
When the order is cancelled, a refund is issued.
To update the record, I need your approval.
The previous agent closed the ticket.
Your colleague Maria already sent the invoice.
The system automatically closed the session.
GitHub removed support for passwords in 2021.
The vendor has cancelled the order.
Looks like someone deleted the channel.
Do not delete the file.
Nobody has merged the PR yet.
I was asked to close the ticket but could not find it.
The update was successful.
There are no closed tickets.
I listed all recently updated files.
The most recently merged PR is #12.
It was last edited by Tom.
These were created automatically by the nightly job.
Your account was created in March 2021.
I checked whether the email was sent.
According to the log, the file was deleted at 03:12.
The audit log shows the table was dropped.
The customer says the package was sent.
If you'd like, I can also close the ticket.
I haven't yet updated the docs.
I could have deleted it, but I didn't.
You may want to update the README.
I'll post the results once the job is finished.
The file was not deleted, only moved.
Neither the branch nor the tag was deleted.
Only drafts can be deleted.
I need to create the issue first.
Feel free to edit the page.
Make sure the record is updated.
It should have been sent yesterday.
She sent the email this morning.
The issue you created is a duplicate.
Which branch should be deleted?
A closed loop system controls the valve.
Set theory and put options are unrelated.
The post office closed at five.
Sales dropped 12% after the update.
The market closed higher.
Emails sent after 5 pm are queued.
Files deleted from the trash cannot be recovered.
Any changes made here are published instantly.
The report, created in May, is outdated.
The page, edited by Tom, looks fine.
I looked at the closed PRs and the merged ones.
Note: deleted items can't be restored.
Warning: this deletes the database.
I did everything except delete the old logs.
I prepared the email but did not send it.
The draft is ready to be sent.
The draft is ready to send.
I'm about to delete the file.
I'd be happy to create the issue.
Nothing has been created, updated or deleted.
The last commit added a new endpoint.
This PR adds a retry and removes the sleep.
The script creates a backup before it deletes the table.
Version 2.1 was published three weeks ago.
Your card was declined, so the order was not created.
I was sent the wrong file.
We were added to the waiting list by the host.
I left the ticket open and did not close it.
I thought about deleting the branch, but decided against it.
Try deleting the cache and restarting.
Is the updated invoice correct?
I only drafted the email; it hasn't been sent.
I stopped short of deleting the account.
Created on 2024-01-02 by svc-bot.
Creator: Bob, created: Monday
The total was set by the finance team.
Orders cancelled within 24 hours get a full refund.
Tickets closed: 14, opened: 9.
You can find the closed issue here.
The status changed to closed.
I was able to change the status to closed.
I marked the ticket as closed.
It will be closed automatically and removed from the list.
I expected the file to have been deleted.
We plan on publishing the post tomorrow.
Updating the docs is still on my list.
Added bonus: it is faster now.
In 2022, the company closed three offices.
As you know, the site was updated on Monday.
The email you sent was received.
The form was submitted by users.
The invoice was approved by finance.
I will make sure the invoice is sent.
I am not sure whether I deleted it.
Your package will be sent once the payment is approved.
There's nothing to delete.
Everything you sent was read.
I'd suggest you delete the old keys and create new ones.
Deleting it now would break the build.
Closing the ticket is up to you.
Some posts were written by guest authors.
I cannot delete or update this record.
I did not find any deleted or closed items.
Two of the tickets had been closed by Ann.
The meeting cannot be cancelled, edited or removed.
An admin must approve the request before it is merged.
I searched for recently added, updated or removed files.
This will delete the file and remove the folder.
The function was written in Rust.
Their team added the feature and our users removed it.
It says here that the order was cancelled.
Have you approved the budget?
I wonder who deleted the file.
The tool failed, so nothing was written.
What was deleted cannot be restored.
He has written three posts and published two of them.
The removed lines are shown in red.
I waited until the PR was merged.
Unless it is cancelled, the plan renews.
You've been added to the list by Sam.
Should the file be deleted, let me know.
Editing is disabled and posting is closed.
The bug was introduced when the index was dropped.
I refused to delete the database.
I have yet to send the email.
Tried creating the issue, but it failed.
I never got around to deleting the file.
I was close to deleting the wrong file.
We are closed on Sundays.
### Changelog\n- Added dark mode
Release notes:\n- Added dark mode
Open issues:\n- Deleted users reappear
Put simply, the file was too big.
The user wanted the account deleted.
I was hoping the ticket was closed.
You had asked that the file be deleted.
No updates were posted.
Nothing new was posted.
Hardly anything was deleted.
I doubt the email was sent.
It is unclear if the record was updated.
The bill will be sent, and the account closed, next week.
Each time a file was deleted, a log was written.
Whenever an order was cancelled, an email was sent.
In the past, tickets were closed manually.
Yesterday the branch was merged.
Two years ago the account was closed.
Last week the page was updated.
The email was sent to Bob by Alice.
Bob told me the ticket was closed.
I was told that the ticket was closed.
My records show that the invoice was sent.
The tracking page says your parcel was sent.
It appears that the file has been deleted.
Apparently, the file was deleted.
Maybe I deleted it.
I would've deleted it.
I don't think I deleted it.
I never said that I deleted it.
I can't confirm that the email was sent.
It's not true that I deleted the file.
Sent from my phone.
Written in Rust.
Published in Nature.
Status: closed.
| Status | Closed |
Issue creation failed.
Sending the email failed.
I forgot to send the email.
Remember to close the ticket and send the report.
My plan: create the issue, send the email, close the ticket.
The invoice (sent 3 May) is overdue.
The order (cancelled by the customer) was refunded.
Ticket #55 (closed) covers the same problem.
An updated quote is attached.
You have 3 cancelled, 2 closed and 1 deleted order.
Payment approved by the bank on Tuesday.
User deleted account.
Customer cancelled their order last night.
Wi-Fi dropped twice.
Shipment sent out by the warehouse.
Last email sent: 9:14.
Date created: 2021-02-03
Time last edited: yesterday.
Deleted 3 days ago.
Files changed: 3, lines added: 40, lines removed: 2.
Message from Bob: I deleted the file.
He wrote: I've closed the ticket.
Per the docs, deleted rows can be restored.
See the attached, signed and approved contract.
We've had reports of deleted messages.
Once the ticket has been closed, you'll get a survey.
In case the file was deleted, check the trash.
Assuming the invoice was sent, we wait.
Given that the account was closed, nothing is due.
The reason is that the key was revoked.
Root cause: the index was dropped during the migration.
The problem: a column was removed in v2.
It broke when the table was dropped.
The tests that were added in 2.0 fail.
Google closed the bug as fixed.
The bot has posted a reminder.
Jira was updated by the integration.
I saw Bob delete the file.
I watched the build get cancelled.
I had the file deleted.
I wasn't the one who deleted it.
";

#[test]
fn messages_that_do_not() {
    super::assert_no_claims(OTHERS);
}
